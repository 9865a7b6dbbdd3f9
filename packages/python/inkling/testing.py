"""A client without a server, for an application's unit tests. It returns the answers and decisions that a test sets.

A value without an answer causes an error (ANSWER_NOT_SET), regardless of `on_unavailable`. For asyncio, wrap the fake:
`AsyncInkling(fake)`.
"""

from __future__ import annotations

import io
import json
from email.message import Message
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Callable, Dict, Generic, List, Literal, Mapping, NamedTuple, NoReturn, Optional, Tuple, TypeVar, Union, cast, overload
from urllib.parse import parse_qs, unquote, urlsplit

from ._client import _ASSESS, _PATHS, _U, Inkling
from ._data import Response
from ._errors import InklingError, Unavailable
from ._generated import ACTIONS, DATA_OF, ERRORS, SERVER_CODES
from ._transport import Request

_T = TypeVar("_T")
# The answers about an ordinary visitor, for the fields that a test does not set.
_PLAIN: Dict[str, Dict[str, Any]] = {
    "geolocate": {
        **{name: {} for name in ("city", "continent", "country", "location", "postal", "registered_country")},
        "subdivisions": [],
    },
    "reputation": {"is_abuser": False, "is_proxy": False, "is_tor_exit": False},
    "email": {"valid": True, "disposable": False, "providers": []},
    "assess": {
        "id": "asm_" + "0" * 16,
        "action": "allow",
        "review": False,
        "score": 0,
        "reasons": [],
        "rule": None,
        "shadow": [],
        "degraded": [],
        "ruleset": 0,
        "data_version": "fake",
    },
}
_NDJSON = "application/x-ndjson"


class FakeRequest(NamedTuple):
    """A request that the client sent."""

    # With its query, from the server's root: "/v1/assess".
    path: str
    # Parsed JSON, or the text of a batch; None without a body.
    body: Any


class _Response:
    """A response in memory, as http.client would return it."""

    status = 200

    def __init__(self, body: str, media_type: str, missing: Tuple[str, ...]) -> None:
        self._body = io.BytesIO(body.encode())
        self.headers = Message()
        self.headers["Content-Type"] = media_type
        self.headers["Inkling-Data-Version"] = "fake"
        if missing:
            self.headers["Inkling-Data-State"] = 'partial; missing="%s"' % " ".join(missing)

    def read(self) -> bytes:
        return self._body.read()

    def read1(self, most: int, /) -> bytes:
        return self._body.read1(most)


class FakeServer:
    """Stands in for the connection to a server."""

    def __init__(self) -> None:
        # What the client has sent, oldest first, including requests that fail() made fail.
        self.requests: List[FakeRequest] = []
        self._own: Dict[Tuple[str, str], Union[Dict[str, Any], str]] = {}
        self._failure: Optional[str] = None
        self._missing: Tuple[str, ...] = ()

    def answer(
        self,
        lookup: Literal["geolocate", "reputation", "email", "assess"],
        value: str,
        code: Optional[str] = None,
        **fields: Any,
    ) -> None:
        """Sets the answer for an address or email address: the fields that matter, such as `is_tor_exit=True` or
        `action="deny"`, or an error code instead. All other fields are those of an ordinary visitor."""
        if lookup not in _PLAIN:
            raise ValueError("inkling: lookup must be one of %s" % ", ".join(_PLAIN))
        if code is not None and code not in SERVER_CODES:
            raise ValueError("inkling: %s is not a code that a server returns" % code)
        if lookup == "email" and fields.get("disposable") is True:
            fields.setdefault("providers", [value.rpartition("@")[2].lower()])
        self._own[lookup, _normal(value)] = code if code is not None else {**_PLAIN[lookup], **fields}

    def fail(self, code: str = "CONNECTION_FAILED") -> None:
        """Makes every request fail from now on."""
        self._failure = code

    def recover(self) -> None:
        """Makes requests succeed again."""
        self._failure = None

    def lack(self, *missing: str) -> None:
        """Makes this data missing from now on, as `data.missing` in answers shows. For tests of `require`."""
        self._missing = missing

    def reset(self) -> None:
        """Forgets every answer and request, and undoes `fail()` and `lack()`. For a client that tests share."""
        self.requests.clear()
        self._own.clear()
        self.recover()
        self.lack()

    def send(self, request: Request, _limit: float, _retries: int, read: Callable[[Response], _T]) -> _T:
        return read(self._respond(request))

    def once(self, request: Request, _limit: float, _left: Any, read: Callable[[Response], _T]) -> _T:
        return read(self._respond(request))

    def close(self) -> None:
        pass

    def _respond(self, request: Request) -> Response:
        body = _body(request)
        self.requests.append(FakeRequest(request.path, body))
        if self._failure is not None:
            raise _error(self._failure)
        url = urlsplit(request.path)
        if url.path.startswith(_ASSESS + "/"):
            own = [it["id"] for it in self._own.values() if isinstance(it, dict) and "id" in it]
            if unquote(url.path.split("/")[3]) not in (_PLAIN["assess"]["id"], *own):
                raise _error("DECISION_NOT_FOUND")
            return self._json({})
        wanted = parse_qs(url.query)
        if url.path == _ASSESS:
            return self._json(self._decide(body, wanted))
        lookup = next(name for name, path in _PATHS.items() if url.path.startswith(path))
        if request.media_type == _NDJSON:
            answers = [self._problem_or(lookup, json.loads(line), wanted) for line in body.splitlines()]
            return _Response("".join(json.dumps(it) + "\n" for it in answers), _NDJSON, self._lacking(lookup))
        if body is not None:
            return self._json({"answers": [self._problem_or(lookup, value, wanted) for value in body["values"]]}, lookup)
        return self._json(self._find(lookup, unquote(url.path[len(_PATHS[lookup]) + 1 :]), wanted), lookup)

    def _json(self, value: Any, lookup: Optional[str] = None) -> Response:
        return _Response(json.dumps(value), "application/json", self._lacking(lookup) if lookup else ())

    def _lacking(self, lookup: str) -> Tuple[str, ...]:
        return tuple(name for name in self._missing if name in DATA_OF[lookup])

    def _problem_or(self, lookup: str, value: str, wanted: Mapping[str, List[str]]) -> Any:
        own = self._own.get((lookup, _normal(value)))
        if isinstance(own, str):
            return {"code": own, "status": ERRORS[own][0], "title": "The test has set this error"}
        return self._find(lookup, value, wanted)

    def _find(self, lookup: str, value: str, wanted: Mapping[str, List[str]]) -> Dict[str, Any]:
        own = self._own.get((lookup, _normal(value)))
        if own is None:
            raise _not_set(lookup)
        if isinstance(own, str):
            raise _error(own)
        more: Dict[str, Any] = {
            "evidence": {"evidence": []},
            "network": {"network": {"prefix": _prefix(value), "kind": "unknown", "shared": False, "services": []}},
            "subject": {"ip": value, "prefix": _prefix(value)},
            "mx": {"checks": {"mx": "found"}},
        }
        names = _names(wanted)
        added = {key: it for name in names for key, it in more.get(name, {}).items()}
        optional = {key for it in more.values() for key in it} - set(added)
        return {**added, **{key: it for key, it in own.items() if key not in optional}}

    def _decide(self, visitor: Mapping[str, Any], wanted: Mapping[str, List[str]]) -> Dict[str, Any]:
        sent = [visitor[name] for name in ("email", "ip") if name in visitor]
        if not sent:
            raise _error("BODY_INVALID")
        own = [self._own["assess", _normal(value)] for value in sent if ("assess", _normal(value)) in self._own]
        for decision in own:
            if isinstance(decision, str):
                raise _error(decision)
        if not own:
            raise _not_set("assess")
        # If both have one, the stricter decision counts.
        found = max((it for it in own if isinstance(it, dict)), key=lambda it: ACTIONS.index(it["action"]))
        names = _names(wanted)
        part_of = {"facts": "facts", "ip": "evidence", "email": "evidence"}
        plain = {name: it for name, it in found.items() if part_of.get(name) in (None, *names)}
        return {"facts": {}, **plain} if "facts" in names else plain


class FakeInkling(Inkling[_U], Generic[_U]):
    """A real client whose `server` is in this process."""

    @overload
    def __init__(
        self: "FakeInkling[NoReturn]", *, on_unavailable: Literal["raise"] = "raise", require: Tuple[str, ...] = ()
    ) -> None: ...

    @overload
    def __init__(
        self: "FakeInkling[Unavailable]",
        *,
        on_unavailable: Literal["allow", "deny"],
        on_throttled: Literal["allow", "deny"] = "deny",
        require: Tuple[str, ...] = (),
    ) -> None: ...

    def __init__(self, **options: Any) -> None:
        Inkling.__init__(cast(Any, self), "http://inkling.test", "ink_test_fake_0", cache_entries=0, **options)
        self.server = FakeServer()
        self._transport = self.server  # type: ignore[assignment]


def _body(request: Request) -> Any:
    if request.body is None:
        return None
    text = request.body.decode()
    return text if request.media_type == _NDJSON else json.loads(text)


def _not_set(lookup: str) -> InklingError:
    hint = 'set one with server.answer("%s", VALUE, …)' % lookup
    return InklingError("ANSWER_NOT_SET", "The fake has no answer for this value (%s)" % lookup, hint=hint)


def _error(code: str) -> InklingError:
    return InklingError(code, "The test has set this error", http_status=ERRORS.get(code, (None, ""))[0])


def _names(wanted: Mapping[str, List[str]]) -> List[str]:
    return [name for texts in wanted.values() for text in texts for name in text.split(",")]


def _ip(value: str) -> Union[IPv4Address, IPv6Address, None]:
    """IPv4 inside IPv6 (::ffff:192.0.2.1) is the IPv4 address, as for a server."""
    try:
        address = ip_address(value)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _normal(value: str) -> str:
    address = _ip(value)
    return value.lower() if address is None else str(address)


def _prefix(value: str) -> str:
    address = _ip(value)
    return value if address is None else "%s/%d" % (value, address.max_prefixlen)
