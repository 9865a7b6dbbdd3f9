"""The client: three lookups, each for one value or any number of values, and decisions about visitors.

Email addresses are sent in the body of a POST, never in a URL, because proxies log URLs.
"""

from __future__ import annotations

import json
import re
import ssl
import time
from typing import (
    Any,
    Dict,
    Generic,
    Iterable,
    Iterator,
    Literal,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
    overload,
)
from urllib.parse import quote, urlsplit

from ._batch import Batch, BatchResult, read_answer, require_data
from ._cache import Cache
from ._data import DataState, Response
from ._errors import InklingError, Unavailable, is_problem, problem_error
from ._generated import ACTIONS, DATA_OF, OUTCOMES, Decision, EmailVerdict, Geolocation, Reputation
from ._transport import Request, Transport, parse_json, unreadable

_U = TypeVar("_U")

_PATHS = {
    "geolocate": "/v1/ip-intel/geolocate",
    "reputation": "/v1/ip-intel/reputation",
    "email": "/v1/user-intel/email",
}
_ASSESS = "/v1/assess"
# As the server accepts it. Other text may not be sendable as a header.
_IDEMPOTENCY_KEY = re.compile("[\\x21-\\x7e]{1,200}")
_KEY = re.compile(r"ink_(?:live|test)_[0-9A-Za-z]+_[0-9A-Za-z]+")


class Inkling(Generic[_U]):
    """A client for one server, with one key. One instance is enough for a process; threads may share it."""

    @overload
    def __init__(
        self: "Inkling[NoReturn]",
        url: str,
        key: Optional[str],
        *,
        on_unavailable: Literal["raise"] = "raise",
        require: Sequence[str] = (),
        timeout: float = 3.0,
        retries: int = 2,
        cache_entries: int = 1_000,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None: ...

    @overload
    def __init__(
        self: "Inkling[Unavailable]",
        url: str,
        key: Optional[str],
        *,
        on_unavailable: Literal["allow", "deny"],
        on_throttled: Literal["allow", "deny"] = "deny",
        require: Sequence[str] = (),
        timeout: float = 3.0,
        retries: int = 2,
        cache_entries: int = 1_000,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None: ...

    def __init__(
        self,
        url: str,
        key: Optional[str],
        *,
        on_unavailable: str = "raise",
        on_throttled: Optional[str] = None,
        require: Sequence[str] = (),
        timeout: float = 3.0,
        retries: int = 2,
        cache_entries: int = 1_000,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        base = urlsplit(_text("url", url))
        if base.scheme not in ("http", "https") or not base.hostname or not base.netloc.isascii():
            raise _wrong("url", "must be the server's address, such as http://127.0.0.1:8080")
        if base.username is not None or base.query or base.fragment:
            raise _wrong("url", "must not contain a user name, query or fragment")
        if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
            raise _wrong("key", "must be a whole key, ink_live_… or ink_test_…, or None if a proxy adds it")
        if on_unavailable not in ("raise", "allow", "deny"):
            raise _wrong("on_unavailable", 'must be "raise", "allow" or "deny"')
        if on_throttled not in (None, "allow", "deny"):
            raise _wrong("on_throttled", 'must be "allow" or "deny"')
        if on_throttled is not None and on_unavailable == "raise":
            raise _wrong("on_throttled", 'has no effect with on_unavailable "raise": set on_unavailable to "allow" or "deny"')
        self.on_unavailable = on_unavailable
        # The verdict while the server throttles this client's key. The default is "deny". Otherwise, a visitor could
        # exhaust the key's rate with many requests and be let in.
        self.on_throttled = on_throttled or "deny"
        # Is the key a sandbox key, which gets the fixed answers in docs/sandbox.md?
        self.is_sandbox = key is not None and key.startswith("ink_test_")
        self._require = _names(require, [name for names in DATA_OF.values() for name in names])
        self._timeout = _seconds(timeout)
        self._retries = _whole("retries", retries, 0, 20)
        self._cache = Cache(_whole("cache_entries", cache_entries, 0, 10_000_000))
        self._transport = Transport(base, key, tls)

    def close(self) -> None:
        """Closes idle connections; the client can still be used."""
        self._transport.close()

    def __enter__(self) -> "Inkling[_U]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def geolocate(
        self,
        ip: str,
        *,
        evidence: bool = False,
        network: bool = False,
        subject: bool = False,
        require: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Union[Geolocation, _U, None]:
        """Looks up where one IPv4 or IPv6 address is. "me" stands for this machine's own address.

        Returns None for a public address whose location is unknown.
        """
        query = _query(evidence, network, subject)
        found: Geolocation
        try:
            found = self._address("geolocate", ip, query, require, timeout)
        except InklingError as error:
            return None if error.code == "IP_ADDRESS_NOT_FOUND" else self._settle(error)
        return found

    def reputation(
        self,
        ip: str,
        *,
        evidence: bool = False,
        network: bool = False,
        subject: bool = False,
        require: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Union[Reputation, _U]:
        """Looks up whether one IPv4 or IPv6 address can be trusted. "me" stands for this machine's own address."""
        query = _query(evidence, network, subject)
        try:
            found: Reputation = self._address("reputation", ip, query, require, timeout)
            return found
        except InklingError as error:
            return self._settle(error)

    def email(
        self,
        address: str,
        *,
        evidence: bool = False,
        checks: Sequence[str] = (),
        require: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Union[EmailVerdict, _U]:
        """Looks up whether an email address is valid, and whether it is disposable.

        Invalid syntax is an answer, not an error.
        """
        query = _query(evidence, checks=checks)
        required = self._required("email", require)
        body = json.dumps({"values": [_text("address", address)]}).encode()

        def read(response: Response) -> EmailVerdict:
            value = parse_json(response.read())
            answers = value.get("answers") if isinstance(value, dict) else None
            answer: Any = answers[0] if isinstance(answers, list) and answers else None
            if is_problem(answer):
                raise problem_error(answer, response.headers.get("X-Request-Id"))
            found: EmailVerdict = self._answer("email", answer, required, response)
            return found

        try:
            request = Request(_PATHS["email"] + query, body)
            return self._transport.send(request, self._limit(timeout), self._retries, read)
        except InklingError as error:
            return self._settle(error)

    def assess(
        self,
        event: str,
        *,
        ip: Optional[str] = None,
        email: Optional[str] = None,
        user_agent: Optional[str] = None,
        account: Optional[str] = None,
        ref: Optional[str] = None,
        expected_country: Optional[str] = None,
        previous: Optional[Mapping[str, Any]] = None,
        facts: Optional[Mapping[str, Union[str, float, bool, Sequence[str]]]] = None,
        with_evidence: bool = False,
        with_facts: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Union[Decision, _U]:
        """Returns a decision about a visitor, with its reasons. Pass the visitor's address, an email address or both.

        `with_evidence` adds the lookups' answers under `ip` and `email`. `with_facts` adds the facts that rules read.
        If the server stores decisions, it returns the same decision for the same `idempotency_key` for 24 hours. Without
        a key, a retry of this client may decide and store a second time.
        """
        if idempotency_key is not None and not _IDEMPOTENCY_KEY.fullmatch(_text("idempotency_key", idempotency_key)):
            # An InklingError, because the key may come from a visitor.
            raise InklingError(
                "IDEMPOTENCY_KEY_INVALID",
                "An idempotency key must have 1 to 200 printable ASCII characters without spaces",
            )
        visitor: Dict[str, Any] = {"event": _text("event", event), "ip": ip, "email": email, "user_agent": user_agent, "ref": ref}
        visitor.update(account=account, expected_country=expected_country, previous=previous, facts=facts)
        body = json.dumps({name: value for name, value in visitor.items() if value is not None}).encode()
        included = [name for name, is_chosen in (("evidence", with_evidence), ("facts", with_facts)) if is_chosen]
        path = _ASSESS + ("?include=" + ",".join(included) if included else "")

        def read(response: Response) -> Decision:
            value = parse_json(response.read())
            try:
                decision = Decision.read(value)
            except (AttributeError, KeyError, TypeError):
                decision = None
            # An action that this client does not support must not be treated as "not denied".
            if decision is None or decision.action not in ACTIONS:
                raise unreadable(response, "The answer is not a decision")
            return decision

        try:
            request = Request(path, body, idempotency_key=idempotency_key)
            return self._transport.send(request, self._limit(timeout), self._retries, read)
        except InklingError as error:
            return self._settle(error)

    def outcome(
        self, id: str, outcome: Literal["legitimate", "fraud"], *, timeout: Optional[float] = None
    ) -> None:
        """Tells the server how a visitor turned out. This does not change any decision.

        `id` is the decision's id. Raises InklingError, regardless of `on_unavailable`.
        """
        if outcome not in OUTCOMES:
            raise _wrong("outcome", "must be one of %s" % ", ".join(OUTCOMES))
        if id in ("", ".", ".."):
            raise _wrong("id", "must be the id of a decision")
        path = "%s/%s/outcome" % (_ASSESS, quote(_text("id", id), safe="", errors="replace"))
        request = Request(path, json.dumps({"outcome": outcome}).encode())
        self._transport.send(request, self._limit(timeout), self._retries, lambda response: response.read())

    @overload
    def batch(
        self, lookup: Literal["geolocate"], values: Iterable[str], **options: Any
    ) -> Iterator[BatchResult[Optional[Geolocation]]]: ...

    @overload
    def batch(
        self, lookup: Literal["reputation"], values: Iterable[str], **options: Any
    ) -> Iterator[BatchResult[Reputation]]: ...

    @overload
    def batch(
        self, lookup: Literal["email"], values: Iterable[str], **options: Any
    ) -> Iterator[BatchResult[EmailVerdict]]: ...

    def batch(self, lookup: str, values: Iterable[str], **options: Any) -> Iterator[BatchResult[Any]]:
        """Looks up any number of values in order. Reads only as many values as it sends.

        Yields one result for each value: its answer, or the error of that value only. Raises InklingError while
        iterating if a request fails for good, regardless of `on_unavailable`. `timeout` is the maximum number of
        seconds without data from the server.
        """
        return self._batch(lookup, **options).results(_values(values))

    def _batch(
        self,
        lookup: str,
        *,
        evidence: bool = False,
        network: bool = False,
        subject: bool = False,
        checks: Sequence[str] = (),
        require: Optional[Sequence[str]] = None,
        timeout: float = 30.0,
        size: int = 1_000,
        concurrency: int = 4,
    ) -> Batch:
        if lookup not in _PATHS:
            raise _wrong("lookup", "must be geolocate, reputation or email")
        return Batch(
            self._transport,
            lookup,
            _PATHS[lookup] + _query(evidence, network, subject, checks),
            self._required(lookup, require),
            self._retries,
            _seconds(timeout),
            _whole("size", size, 1, 1_000),
            _whole("concurrency", concurrency, 1, 64),
        )

    def _address(
        self, lookup: str, ip: str, query: str, require: Optional[Sequence[str]], timeout: Optional[float]
    ) -> Any:
        required = self._required(lookup, require)
        limit = self._limit(timeout)
        # As the last part of a URL, these would ask for another path.
        if ip in ("", ".", ".."):
            raise InklingError("IP_ADDRESS_INVALID", 'Not an IP address: the value is "%s"' % ip)
        path = "%s/%s%s" % (_PATHS[lookup], quote(_text("ip", ip), safe="", errors="replace"), query)
        stored = self._cache.find(path)
        if stored and time.monotonic() < stored.fresh_until and not stored.data.lacks(required):
            return read_answer(lookup, json.loads(stored.value), stored.data)

        def read(response: Response) -> Any:
            body = response.read()
            data = DataState.read(response.headers)
            if response.status == 304 and stored is not None:
                body = stored.value
                if data.version is None:
                    data = stored.data  # a cache in between may send fewer headers
            answer = self._answer(lookup, parse_json(body), (), response, data)
            self._cache.store(path, body, data, response.headers)
            require_data(required, data, response)
            return answer

        request = Request(path, etag=stored.etag if stored else None)
        return self._transport.send(request, limit, self._retries, read)

    def _answer(
        self,
        lookup: str,
        value: Any,
        required: Sequence[str],
        response: Response,
        state: Optional[DataState] = None,
    ) -> Any:
        data = state or DataState.read(response.headers)
        answer = read_answer(lookup, value, data)
        if answer is None:
            what = "JSON, but not in Inkling's format" if value is not None else "not JSON"
            raise unreadable(response, "The answer is %s" % what)
        require_data(required, data, response)
        return answer

    def _required(self, lookup: str, require: Optional[Sequence[str]]) -> Tuple[str, ...]:
        of_lookup = DATA_OF[lookup]
        if require is not None:
            return _names(require, of_lookup)
        return tuple(name for name in self._require if name in of_lookup)

    def _limit(self, timeout: Optional[float]) -> float:
        return self._timeout if timeout is None else _seconds(timeout)

    def _settle(self, error: InklingError) -> _U:
        if self.on_unavailable == "raise" or not error.is_unavailable:
            raise error
        # `_U` is Unavailable here, because the client does not raise.
        return cast(_U, Unavailable(self.on_throttled if error.is_throttled else self.on_unavailable, error))


def _wrong(name: str, what: str) -> ValueError:
    return ValueError("inkling: %s %s" % (name, what))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("inkling: %s must be a string, not %s" % (name, type(value).__name__))
    return value


def _values(values: Iterable[str]) -> Iterable[str]:
    if isinstance(values, str):
        raise TypeError("inkling: values must be an iterable of strings, such as a list")
    return values


def _whole(name: str, value: int, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong(name, "must be a whole number from %d to %d" % (least, most))
    return value


def _seconds(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.001 <= value <= 3_600:
        raise _wrong("timeout", "must be seconds, from 0.001 to 3600")
    return float(value)


def _names(value: Sequence[str], allowed: Sequence[str]) -> Tuple[str, ...]:
    """Refuses a name that does not stand for any data, because it would never be reported as missing."""
    names = tuple(value)  # read only once, because a generator would be empty after the check
    if isinstance(value, str) or not all(name in allowed for name in names):
        raise _wrong("require", "must be a list; the values allowed here are %s" % ", ".join(allowed))
    return names


def _query(
    evidence: bool = False, network: bool = False, subject: bool = False, checks: Sequence[str] = ()
) -> str:
    if isinstance(checks, str) or not all(check == "mx" for check in checks):
        raise _wrong("checks", 'must be a list; the only value allowed is "mx"')
    chosen = (("evidence", evidence), ("network", network), ("subject", subject))
    included = ",".join(name for name, is_chosen in chosen if is_chosen)
    parts = ["include=" + included] if included else []
    return "?" + "&".join([*parts, "checks=mx"] if checks else parts) if parts or checks else ""
