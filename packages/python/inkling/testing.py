"""A client without a server, for an application's unit tests. It decides as the sandbox does.

`192.0.2.6` is a Tor exit and is challenged, `jane@disposable.example` is denied, and a real value causes an error
(SANDBOX_VALUE_REQUIRED). The client supports only decisions. Lookups fail with PATH_NOT_FOUND; test them with a sandbox
key.
"""

from __future__ import annotations

import json
import math
from ipaddress import ip_address
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, TypeVar, Union

from ._client import _ASSESS, Inkling
from ._errors import InklingError
from ._sandbox import ASSESSED, PROBLEMS, THRESHOLDS, VERSION, WEIGHTS
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
    "data_version": VERSION,
}
# Keeps floating-point errors from putting 1 - (1 - 0.5) below 0.5.
_SLACK = 1e-9


class _Response(NamedTuple):
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {"Content-Type": "application/json"}

    def read(self) -> bytes:
        return self.body


class SandboxServer:
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
        sent = [visitor[name] for name in ("ip", "email") if name in visitor]
        if not sent:
            raise _error("BODY_INVALID")
        own = next((self._own[_normal(value)] for value in sent if _normal(value) in self._own), None)
        if isinstance(own, str):
            raise _error(own)
        if own is not None:
            return own
        codes: List[str] = []
        for value in sent:
            share = ASSESSED.get(_normal(value.rpartition("@")[2]), "SANDBOX_VALUE_REQUIRED")
            if isinstance(share, str):
                raise _error(share)
            codes.extend(share)
        reasons = [{"code": code, "weight": weight} for code, weight in WEIGHTS.items() if code in codes]
        score = 1 - math.prod(1 - float(reason["weight"]) for reason in reasons)  # type: ignore[arg-type]
        action = next((action for action, least in THRESHOLDS if score + _SLACK >= least), "allow")
        return {**_PLAIN, "action": action, "score": round(score, 2), "reasons": reasons}


class FakeInkling(Inkling[Any]):
    """A real client whose `server` is in this process."""

    def __init__(self, *, on_unavailable: Any = "raise", **options: Any) -> None:
        super().__init__("http://inkling.test", "ink_test_fake_0", on_unavailable=on_unavailable, **options)
        self.server = SandboxServer()
        self._transport = self.server  # type: ignore[assignment]


def _error(code: str) -> InklingError:
    status, title, detail = PROBLEMS.get(code, (None, "The fake server is configured to fail", ""))
    return InklingError(code, "%s: %s" % (title, detail) if detail else title, http_status=status)


def _normal(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        return value.lower()
