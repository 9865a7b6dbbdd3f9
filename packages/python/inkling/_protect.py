"""Decides about a request's sender before a sign-up, for every framework's `protect`.

If there is no decision, the client's `on_unavailable` applies. "raise" counts as "allow" here, because a visitor is not
to blame for an outage. An outage is never silent: the view gets an `Unavailable`, and `on_undecided` is called. If
nobody on the internet can have the visitor's address, as when `trust_proxy` is too small, a client that allows gets a
decision about the email address only.
"""

from __future__ import annotations

import inspect
import logging
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Union

from ._address import visitor_address
from ._aio import AsyncInkling
from ._client import Inkling
from ._errors import InklingError, Unavailable
from ._generated import Decision

# What a view gets: a decision that is not "deny", or the reason why there is none.
Admitted = Union[Decision, Unavailable]

_CHECK_EMAIL = "Please check the email address."
_TRY_LATER = "We cannot check this request at the moment. Please try again later."
_MESSAGE = "We cannot accept this request. If you think this is a mistake, please contact us."
# Limits that the server also applies.
_MAX_EMAIL = 1_024
_MAX_USER_AGENT = 2_048
_LOOPBACK = re.compile(r"127\.|::1\Z")

_log = logging.getLogger("inkling")


@dataclass(frozen=True)
class InvalidEmail:
    """An email address that cannot receive mail, or whose domain looks like a typo."""

    # A sentence for the visitor. It repeats what the visitor typed, so escape it in HTML.
    error: str
    # What the visitor sent; None if it was not one text.
    email: Optional[str] = None
    # The address that the visitor probably meant.
    did_you_mean: Optional[str] = None


@dataclass(frozen=True)
class Refusal:
    """The response that a visitor gets instead of the view's."""

    status: int
    body: Mapping[str, str]
    # What a hook of the application returned, which replaces the response.
    answer: Any = None


@dataclass(frozen=True)
class Visit:
    """What a framework provides about a request. `body` has the values of each name, or None if it cannot be read."""

    peer: Optional[str]
    header: Callable[[str], Optional[str]] = field(repr=False)
    body: Any = field(default=None, repr=False)


NOT_ACCEPTED = Refusal(415, {"error": "Send a form or JSON."})


def kind_of(content_type: Optional[str]) -> Optional[str]:
    """How to read a body: as "json" or "form"; None if it is neither.

    Text that is both JSON and a form has a different email address for each reader, so the content type decides.
    """
    media_type = (content_type or "").split(";")[0].strip().lower()
    if re.fullmatch(r"application/(?:[\w.-]+\+)?json", media_type):
        return "json"
    return "form" if media_type in ("application/x-www-form-urlencoded", "multipart/form-data") else None


def single(form: Mapping[str, Sequence[Any]]) -> Dict[str, Any]:
    """The fields of a form. A field that was sent more than once is a list."""
    return {name: values[0] if len(values) == 1 else list(values) for name, values in form.items()}


class Gate:
    """The check in front of a route. Each framework's `protect` is one, and adds how requests are read and answered.

    - `trust_proxy`: the proxies in front of the application, as in `visitor_address`. `address` replaces it: a
      function from the request to the visitor's address. `loopback` is the address to use for requests from this
      machine, for development.
    - `event`: what the visitor does. `email`: the name of the body's field with the email address; None if the body
      has none. `more`: a function from the request to `account`, `ref`, `expected_country`, `previous` and
      `facts`.
    - `message`: what a denied visitor reads. `on_denied` and `on_challenge` get the decision, `on_invalid` an
      `InvalidEmail`, each followed by the request where a view gets one. What they return is the response.
      `on_challenge` and `on_invalid` may return "admit", and the view runs. Without `on_challenge`, challenged visitors
      reach the view.
    - `on_undecided`: called with each `Unavailable`. By default, the log gets one warning for each error code until the
      next decision.

    Raises ValueError or TypeError if an option is invalid.
    """

    def __init__(
        self,
        client: Union[Inkling[Any], AsyncInkling[Any]],
        *,
        trust_proxy: Union[int, Sequence[str]] = 0,
        address: Optional[Callable[[Any], Optional[str]]] = None,
        loopback: Optional[str] = None,
        event: str = "sign_up",
        email: Optional[str] = "email",
        more: Optional[Callable[[Any], Any]] = None,
        message: str = _MESSAGE,
        on_denied: Optional[Callable[..., Any]] = None,
        on_challenge: Optional[Callable[..., Any]] = None,
        on_invalid: Optional[Callable[..., Any]] = None,
        on_undecided: Optional[Callable[[Unavailable], object]] = None,
    ) -> None:
        if not isinstance(event, str) or not isinstance(email, (str, type(None))):
            raise TypeError("inkling: event and email must be strings; email may be None")
        visitor_address(None, trust_proxy=trust_proxy)  # raises now, not with the first visitor
        if loopback is not None and visitor_address(loopback) is None:
            raise ValueError("inkling: loopback must be an IP address")
        self._client = client.sync if isinstance(client, AsyncInkling) else client
        self._aio = client if isinstance(client, AsyncInkling) else AsyncInkling(client)
        self._trust_proxy, self._address, self._loopback = trust_proxy, address, loopback
        self._event, self._email, self._more, self._message = event, email, more, message
        self._on_denied, self._on_challenge, self._on_invalid = on_denied, on_challenge, on_invalid
        self._on_undecided = on_undecided
        self._warned: Set[str] = set()

    @property
    def reads_body(self) -> bool:
        return self._email is not None

    def decide(self, request: Any, visit: Visit, *context: Any) -> Union[Admitted, Refusal]:
        """`context` is what the hooks get after their first argument."""
        work = self._decide(self._client, request, visit, context)
        try:
            work.send(None)
        except StopIteration as end:  # it has nothing to wait for, so it ends at once
            return end.value  # type: ignore[no-any-return]
        work.close()
        raise TypeError("inkling: a hook of a view that is not a coroutine function must not be one either")

    async def decide_async(self, request: Any, visit: Visit, *context: Any) -> Union[Admitted, Refusal]:
        """As `decide`; hooks may be coroutine functions."""
        return await self._decide(self._aio, request, visit, context)

    async def _decide(
        self, client: Any, request: Any, visit: Visit, context: Sequence[Any]
    ) -> Union[Admitted, Refusal]:
        """One text for both kinds of client and hook: it waits only for what returns an awaitable."""
        if isinstance(visit.body, Refusal):
            return visit.body
        visitor: Dict[str, Any] = {"user_agent": (visit.header("user-agent") or "")[:_MAX_USER_AGENT] or None}
        email = None
        if self._email is not None:
            email = _email_in(visit.body, self._email)
            if email is None:
                refusal = await self._refuse_email(InvalidEmail(_CHECK_EMAIL), None, context)
                return refusal or Refusal(422, {"error": _CHECK_EMAIL})
            visitor["email"] = email
        ip = self._address_of(request, visit)
        if self._more is not None:
            visitor.update(await _result(self._more(request)) or {})
        decision: Admitted
        try:
            if ip is None:
                raise InklingError("ADDRESS_UNKNOWN", "The visitor's address is unknown")
            decision = await _result(client.assess(self._event, ip=ip, **visitor))
        except InklingError as error:
            decision = self._settle(error)
        if isinstance(decision, Unavailable) and _is_nobody(decision) and email is not None:
            self._warn("judged a visitor only by the email address", decision, "by email")
            try:
                decision = await _result(client.assess(self._event, **visitor))
            except InklingError as error:
                decision = self._settle(error)
        if isinstance(decision, Unavailable):
            denies = decision.verdict == "deny"
            if self._on_undecided is not None:
                await _result(self._on_undecided(decision))
            else:
                what = "refused a visitor" if denies else "let a visitor in"
                self._warn("%s without a decision" % what, decision, decision.error.code)
            return Refusal(503, {"error": _TRY_LATER}) if denies else decision
        self._warned &= {"by email"}  # which may apply to every visitor
        meant = decision.did_you_mean
        if meant is not None or any(reason.code == "invalid_email" for reason in decision.reasons):
            error_text = _CHECK_EMAIL if meant is None else "Did you mean %s?" % meant
            refusal = await self._refuse_email(InvalidEmail(error_text, email, meant), decision.id, context)
            if refusal is not None:
                return refusal
        body = {"error": self._message, "decision": decision.id}
        if decision.action == "deny":
            return Refusal(403, body, await _result(self._on_denied(decision, *context)) if self._on_denied else None)
        if decision.action == "challenge" and self._on_challenge is not None:
            answer = await _result(self._on_challenge(decision, *context))
            if not (isinstance(answer, str) and answer == "admit"):
                return Refusal(403, body, answer)
        return decision

    async def _refuse_email(
        self, invalid: InvalidEmail, decision: Optional[str], context: Sequence[Any]
    ) -> Optional[Refusal]:
        named = {"error": invalid.error, "did_you_mean": invalid.did_you_mean, "decision": decision}
        body = {name: value for name, value in named.items() if value is not None}
        if self._on_invalid is None:
            return Refusal(422, body)
        answer = await _result(self._on_invalid(invalid, *context))
        return None if isinstance(answer, str) and answer == "admit" else Refusal(422, body, answer)

    def _address_of(self, request: Any, visit: Visit) -> Optional[str]:
        if self._address is not None:
            found = visitor_address(self._address(request))
        else:
            found = visitor_address(visit.peer, visit.header("x-forwarded-for"), trust_proxy=self._trust_proxy)
        return self._loopback if self._loopback and found and _LOOPBACK.match(found) else found

    def _settle(self, error: InklingError) -> Unavailable:
        """What a client that raises would have returned. Other clients have settled the error themselves."""
        if not error.is_unavailable:
            raise error
        policy = "allow" if self._client.on_unavailable == "raise" else self._client.on_unavailable
        return Unavailable(self._client.on_throttled if error.is_throttled else policy, error)

    def _warn(self, what: str, unavailable: Unavailable, once: str) -> None:
        if once not in self._warned:
            error = unavailable.error
            _log.warning("protect() %s: %s. %s", what, error.code, error.hint)
        self._warned.add(once)


async def _result(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _is_nobody(unavailable: Unavailable) -> bool:
    """Is the address unknown, or one that nobody on the internet has? A client that denies gets no second decision."""
    return unavailable.verdict == "allow" and unavailable.error.code in ("ADDRESS_UNKNOWN", "IP_ADDRESS_RESERVED")


def _email_in(body: Any, name: str) -> Optional[str]:
    """None for what cannot be an email address, such as a list, from which the view might still read one."""
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_EMAIL else None


__all__: List[str] = ["Admitted", "Gate", "InvalidEmail", "Refusal", "Visit", "NOT_ACCEPTED", "kind_of", "single"]
