"""`protect` for FastAPI: a dependency whose value is the decision about the sender, and never "deny"."""

# Without `from __future__ import annotations`: FastAPI reads the annotations of `__call__`.

from typing import Any

from fastapi import HTTPException, Request

from ._protect import NOT_ACCEPTED, Admitted, Gate, Refusal, Visit, kind_of, single
from ._transport import parse_json


class protect(Gate):
    """`decision: Admitted = Depends(protect(inkling, trust_proxy=1))` among the parameters of a route.

    Denied visitors get 403, and visitors with a mistyped email address 422, in `detail`. Hooks get the request, may be
    coroutine functions, and raise the HTTPException that answers.
    """

    async def __call__(self, request: Request) -> Admitted:
        peer = request.client.host if request.client else None
        visit = Visit(peer, request.headers.get, await self._body(request) if self.reads_body else None)
        found = await self.decide_async(request, visit, request)
        if isinstance(found, Refusal):
            raise HTTPException(found.status, dict(found.body))
        return found

    async def _body(self, request: Request) -> Any:
        kind = kind_of(request.headers.get("content-type"))
        if kind == "json":
            return parse_json(await request.body())
        if kind != "form":
            return NOT_ACCEPTED
        form = await request.form()
        return single({name: form.getlist(name) for name in form})
