"""A client without a server, for an application's unit tests. It returns the decisions that a test sets.

A visitor without a decision causes an error (ANSWER_NOT_SET). The client supports only decisions. Lookups fail with
PATH_NOT_FOUND; test them with a sandbox key and a server.
"""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, TypeVar, Union

from ._client import _ASSESS, Inkling
from ._errors import InklingError
from ._generated import ACTIONS, STATUSES
from ._transport import Request

_T = TypeVar("_T")
_PLAIN: Dict[str, Any] = {
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
}


class _Response(NamedTuple):
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {"Content-Type": "application/json"}

    def read(self) -> bytes:
        return self.body


class FakeServer:
    """Stands in for the connection to a server."""

    def __init__(self) -> None:
        self._own: Dict[str, Union[Dict[str, Any], str]] = {}
        self._failure: Optional[str] = None

    def answer(self, value: str, decision: Union[str, None] = None, **members: Any) -> None:
        """Sets what the server returns for visitors with this address or email address: members such as
        `action="deny"`, or an error code instead."""
        self._own[_normal(value)] = decision if decision is not None else {**_PLAIN, **members}

    def fail(self, code: str = "CONNECTION_FAILED") -> None:
        """Makes every request fail from now on."""
        self._failure = code

    def recover(self) -> None:
        """Makes requests succeed again."""
        self._failure = None

    def send(self, request: Request, _limit: float, _retries: int, read: Callable[[Any], _T]) -> _T:
        path = request.path.split("?")[0]
        if self._failure is not None:
            raise _error(self._failure)
        if path.startswith(_ASSESS + "/"):
            if path.split("/")[3] != _PLAIN["id"]:
                raise _error("DECISION_NOT_FOUND")
            return read(_Response(request.body or b"{}"))
        if path != _ASSESS:
            raise _error("PATH_NOT_FOUND")
        return read(_Response(json.dumps(self._decide(json.loads(request.body or b"{}"))).encode()))

    def close(self) -> None:
        pass

    def _decide(self, visitor: Mapping[str, Any]) -> Dict[str, Any]:
        sent = [visitor[name] for name in ("email", "ip") if name in visitor]
        if not sent:
            raise _error("BODY_INVALID")
        own = [self._own[_normal(value)] for value in sent if _normal(value) in self._own]
        for decision in own:
            if isinstance(decision, str):
                raise _error(decision)
        if not own:
            hint = "set one with server.answer(VALUE, action=…)"
            raise InklingError("ANSWER_NOT_SET", "The fake has no decision about this visitor", hint=hint)
        # If both have one, the stricter decision counts.
        return max((dict(it) for it in own if isinstance(it, dict)), key=lambda it: ACTIONS.index(it["action"]))


class FakeInkling(Inkling[Any]):
    """A real client whose `server` is in this process."""

    def __init__(self, *, on_unavailable: Any = "raise", **options: Any) -> None:
        super().__init__("http://inkling.test", "ink_test_fake_0", on_unavailable=on_unavailable, **options)
        self.server = FakeServer()
        self._transport = self.server  # type: ignore[assignment]


def _error(code: str) -> InklingError:
    return InklingError(code, "The test has set this error", http_status=STATUSES.get(code))


def _normal(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        return value.lower()
