"""`protect` for Django: `request.decision` is the decision about the sender, and never "deny"."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any, Callable, Union

from django.http import JsonResponse

from ._protect import NOT_ACCEPTED, Admitted, Gate, Refusal, Visit, kind_of, single
from ._transport import parse_json


class protect(Gate):
    """`@protect(inkling, trust_proxy=1)` above a view, which may be a coroutine function.

    Denied visitors get 403, and visitors with a mistyped email address 422. Hooks get the request, and return a response.
    For a class-based view: `@method_decorator(protect(inkling, trust_proxy=1), name="post")`.
    """

    def __call__(self, view: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(view):

            @wraps(view)
            async def guarded_async(request: Any, *args: Any, **named: Any) -> Any:
                found = await self.decide_async(request, self._visit(request), request)
                return _answer(request, found) or await view(request, *args, **named)

            return guarded_async

        @wraps(view)
        def guarded(request: Any, *args: Any, **named: Any) -> Any:
            found = self.decide(request, self._visit(request), request)
            return _answer(request, found) or view(request, *args, **named)

        return guarded

    def _visit(self, request: Any) -> Visit:
        body: Any = None
        if self.reads_body:
            kind = kind_of(request.content_type)
            if kind == "json":
                body = parse_json(request.body)
            else:
                body = single(dict(request.POST.lists())) if kind == "form" else NOT_ACCEPTED
        return Visit(request.META.get("REMOTE_ADDR"), request.headers.get, body)


def _answer(request: Any, found: Union[Admitted, Refusal]) -> Any:
    """None if the view runs."""
    if isinstance(found, Refusal):
        return JsonResponse(dict(found.body), status=found.status) if found.answer is None else found.answer
    request.decision = found
    return None
