"""`protect` for Flask: `flask.g.decision` is the decision about the sender, and never "deny"."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Dict, Tuple, Union

from flask import current_app, g, request

from ._protect import NOT_ACCEPTED, Gate, Refusal, Visit, kind_of, single


class protect(Gate):
    """`@app.post("/sign-up")`, then `@protect(inkling, trust_proxy=1)`, above the view.

    Denied visitors get 403, and visitors with a mistyped email address 422. Hooks do not get the request, because they
    can use `flask.request`. `more` and `address` do get it.
    """

    def __call__(self, view: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(view)
        def guarded(*args: Any, **named: Any) -> Any:
            visit = Visit(request.remote_addr, request.headers.get, self._body() if self.reads_body else None)
            found = self.decide(request, visit)
            if isinstance(found, Refusal):
                return _answer(found)
            g.decision = found
            return current_app.ensure_sync(view)(*args, **named)

        return guarded

    def _body(self) -> Any:
        kind = kind_of(request.content_type)
        if kind == "json":
            return request.get_json(silent=True)
        return single(dict(request.form.lists())) if kind == "form" else NOT_ACCEPTED


def _answer(refusal: Refusal) -> Union[Any, Tuple[Dict[str, str], int]]:
    return (dict(refusal.body), refusal.status) if refusal.answer is None else refusal.answer
