"""The error of all lookups, and the result of a lookup when the service is unavailable.

Messages never quote a key, an address or an email address, because errors end up in logs.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, TypeVar, Union

from ._generated import ERRORS, FIELDS

# Statuses for which a retry may help. Requests with other statuses would fail again.
_RETRYABLE_STATUSES = frozenset((429, 500, 502, 503, 504))
_UNREACHED_CODES = frozenset(("CONNECTION_FAILED", "TIMED_OUT"))
# Codes of errors that leave a correct request without an answer. A form should keep working with an expired key.
# Nothing is known about the addresses of health probes and of colleagues in a VPN.
_UNAVAILABLE_CODES = frozenset(("ANSWER_UNREADABLE", "DATA_INCOMPLETE", "KEY_EXPIRED", "IP_ADDRESS_RESERVED", "ADDRESS_UNKNOWN"))


class InklingError(Exception):
    """A lookup failed. Programs should check `code`; the message and `hint` are for people."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        http_status: Optional[int] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        hint: Optional[str] = None,
    ) -> None:
        super().__init__(code, message)  # both arguments, so that the error can be pickled
        self.code = code
        # Status of the HTTP response, if there was one.
        self.http_status = http_status
        # The request id, as in the server's log.
        self.request_id = request_id
        # Seconds from the server's Retry-After header.
        self.retry_after = retry_after
        # What to do about the error.
        self.hint = hint or ERRORS.get(code, (None, "look up this code in the server's docs/errors.md"))[1]

    def __str__(self) -> str:
        return "%s (%s)" % (self.args[1], self.code)

    @property
    def _is_unreached(self) -> bool:
        """Was there no response, or only part of one?"""
        return self.code in _UNREACHED_CODES

    @property
    def is_retryable(self) -> bool:
        """May the same request succeed a little later?"""
        return self._is_unreached or self.http_status in _RETRYABLE_STATUSES

    @property
    def is_throttled(self) -> bool:
        """Did the server refuse the lookup because the key's rate or quota is used up? `on_throttled` applies."""
        return self.http_status == 429

    @property
    def is_unavailable(self) -> bool:
        """Is there no answer although the request is correct? `on_unavailable` applies to these errors."""
        return self.code in _UNAVAILABLE_CODES or self.is_retryable


def is_problem(value: Any) -> bool:
    """Is this a problem document (RFC 9457), either as the whole response or instead of one value's answer?

    Answers have no code and no status.
    """
    return (
        isinstance(value, dict)
        and isinstance(value.get("code"), str)
        and isinstance(value.get("status"), int)
        and isinstance(value.get("title"), str)
    )


def problem_error(
    problem: Mapping[str, Any], request_id: Optional[str] = None, retry_after: Optional[float] = None
) -> InklingError:
    detail = problem.get("detail")
    own_id = problem.get("request_id")
    return InklingError(
        problem["code"],
        "%s: %s" % (problem["title"], detail) if isinstance(detail, str) else problem["title"],
        http_status=problem["status"],
        request_id=own_id if isinstance(own_id, str) else request_id,
        retry_after=retry_after,
    )


class Unavailable:
    """There is no answer, because the service is unavailable.

    With "deny", reading a field of an answer raises the underlying error. With "allow", the field is None.
    """

    available = False

    def __init__(self, verdict: str, error: InklingError) -> None:
        # The client's `on_unavailable`, or its `on_throttled` while the server throttles the key: "allow" or "deny".
        self.verdict = verdict
        # Why there is no answer.
        self.error = error

    def __getattr__(self, name: str) -> None:
        if name not in FIELDS:
            raise AttributeError(name)
        if self.verdict == "deny":
            raise self.error

    def __repr__(self) -> str:
        return "Unavailable(%r, %s)" % (self.verdict, self.error.code)


_T = TypeVar("_T")


def denies(answer: Union[_T, Unavailable, None], refuses: Callable[[_T], object]) -> bool:
    """Should the visitor be refused? If there is an answer, `refuses` decides.

    If there is none, the client's `on_unavailable` or `on_throttled` decides.

    An address without a known location, for which the answer is None, is never refused.
    """
    if isinstance(answer, Unavailable):
        return answer.verdict == "deny"
    return answer is not None and bool(refuses(answer))
