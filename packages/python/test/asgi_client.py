"""The part of fastapi.testclient that the tests use. The original needs httpx, which FastAPI does not install."""

import asyncio
import json as _json


class Response:
    def __init__(self, status_code, content):
        self.status_code, self.content = status_code, content

    def json(self):
        return _json.loads(self.content)


class TestClient:
    def __init__(self, app):
        self._app = app

    def post(self, path, *, json=None, content=None, headers=None):
        body = _json.dumps(json).encode() if content is None else content
        all_headers = {"content-type": "application/json", **(headers or {})}
        return asyncio.run(self._send(path, body, all_headers))

    async def _send(self, path, body, headers):
        sent = []
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }

        async def receive():
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await self._app(scope, receive, send)
        return Response(sent[0]["status"], b"".join(it.get("body", b"") for it in sent))
