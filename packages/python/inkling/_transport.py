"""One request to the server, with its connections, retries and the circuit breaker.

A repeated lookup changes nothing, although it counts twice. Redirects are not followed: the API has none, and an email
address must not be sent elsewhere.
"""

from __future__ import annotations

import http.client
import io
import json
import math
import os
import random
import re
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Deque, NamedTuple, Optional, TypeVar
from urllib.parse import SplitResult

from ._data import Response
from ._errors import InklingError, is_problem, problem_error

_T = TypeVar("_T")
# Returns the seconds left for the next step of a request.
Left = Callable[[], float]

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
# Maximum random extra wait, as a share of the wait. Clients that were refused together should not retry together.
_SPREAD = 0.25


def retry_after(header: Optional[str]) -> Optional[float]:
    """Returns seconds, at least 0, or None if the header is missing or cannot be read.

    RFC 9110 10.2.3: the header holds seconds or a date.
    """
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    if re.match(r"[A-Z][a-z]{2}, ", text) is None:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return float(max(0, math.ceil(date.timestamp() - time.time())))


def pause_before(failures: int, after: Optional[float]) -> float:
    """Returns the seconds to wait before the next attempt.

    With Retry-After, that is its time plus up to a quarter. Otherwise it is a random part of a pause that doubles with
    each failure.
    """
    if after is not None:
        return after * (1 + _SPREAD * random.random())
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 30)) * (0.5 + 0.5 * random.random())


class Request(NamedTuple):
    # The path with its query, from the server's root: "/v1/…".
    path: str
    # Makes the request a POST.
    body: Optional[bytes] = None
    media_type: str = "application/json"
    # Makes the request conditional.
    etag: Optional[str] = None
    idempotency_key: Optional[str] = None


class _Reader(io.RawIOBase):
    """The stream from which http.client reads a response. No step waits longer than the time left."""

    def __init__(self, sock: socket.socket, left: Left) -> None:
        self._sock = sock
        self._left = left
        self._raw = sock.makefile("rb", buffering=0)  # keeps the socket open until this reader is closed

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        _limit(self._sock, self._left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _limit(sock: socket.socket, left: Left) -> None:
    seconds = left()
    if seconds <= 0:
        raise socket.timeout("no time left")
    sock.settimeout(seconds)


class Breaker:
    """A circuit breaker. While the server does not answer at all, lookups fail immediately instead of waiting for it.

    The breaker opens after `FAILURES` lookups in a row without any response. When the pause is over, it lets one probe
    through. Any response closes the breaker, and a failed probe doubles the pause. Lookups that were already in
    progress when the breaker opened do not count.
    """

    FAILURES = 3

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._is_probing = False
        self._until = 0.0
        self._last: Optional[InklingError] = None

    def enter(self) -> bool:
        """Is this lookup the probe? Each lookup that may proceed ends with one of the methods below.

        Raises InklingError while the breaker is open.
        """
        with self._lock:
            if self._last is None:
                return False
            left = self._until - time.monotonic()
            if not self._is_probing and left <= 0:
                self._is_probing = True
                return True
            wait = "in %d ms" % math.ceil(left * 1000) if left > 0 else "in progress"
            raise InklingError(
                self._last.code,
                "Not sent, because the server did not respond to recent requests",
                hint="the next request to the server is %s; %s" % (wait, self._last.hint),
            ) from self._last

    def succeed(self) -> None:
        with self._lock:
            self._failures = 0
            self._is_probing = False
            self._last = None

    def fail(self, is_probe: bool, error: InklingError) -> None:
        with self._lock:
            if self._last is not None and not is_probe:
                return
            self._is_probing = False
            self._failures += 1
            if self._failures >= self.FAILURES:
                self._last = InklingError(error.code, error.args[1])  # without the traceback, which holds the request
                self._until = time.monotonic() + pause_before(self._failures, None)

    def abandon(self, is_probe: bool) -> None:
        """The caller aborted, so nothing is known about the server."""
        if is_probe:
            with self._lock:
                self._is_probing = False


class Transport:
    def __init__(self, base: SplitResult, key: Optional[str], context: Optional[ssl.SSLContext]) -> None:
        self._host = base.hostname or ""
        self._port = base.port or (443 if base.scheme == "https" else 80)
        self._authority = base.netloc
        self._prefix = base.path.rstrip("/")
        self._tls = (context or ssl.create_default_context()) if base.scheme == "https" else None
        self._authorization = {} if key is None else {"Authorization": "Bearer " + key}
        self._idle: Deque[http.client.HTTPConnection] = deque()  # append and pop need no lock
        self._breaker = Breaker()
        _transports.add(self)

    def after_fork(self) -> None:
        """Drops connections and locks in a child process, which must not use those of its parent."""
        self.close()
        self._breaker = Breaker()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def send(
        self, request: Request, timeout: float, retries: int, read: Callable[[Response], _T]
    ) -> _T:
        """Sends a request and retries after transient failures, all within `timeout` seconds.

        Each attempt except the last may take half of that time, so that one hanging connection does not use it up.
        """
        breaker = self._breaker
        is_probe = breaker.enter()
        try:
            result = self._tries(request, timeout, retries, read, is_probe)
        except InklingError as error:
            if error._is_unreached:
                breaker.fail(is_probe, error)
            else:
                breaker.succeed()
            raise
        except BaseException:
            breaker.abandon(is_probe)
            raise
        breaker.succeed()
        return result

    def _tries(
        self,
        request: Request,
        timeout: float,
        retries: int,
        read: Callable[[Response], _T],
        is_probe: bool,
    ) -> _T:
        deadline = time.monotonic() + timeout
        failures = 0
        while True:
            now = time.monotonic()
            end = min(deadline, now + timeout / 2) if failures < retries else deadline
            try:
                return self.once(request, end - now, lambda: end - time.monotonic(), read)
            except InklingError as error:
                failures += 1
                if not error.is_retryable or failures > retries or (is_probe and error._is_unreached):
                    raise
                pause = pause_before(failures, error.retry_after)
                if time.monotonic() + pause >= deadline:
                    raise  # too late for another attempt
            time.sleep(pause)

    def once(
        self, request: Request, limit: float, left: Left, read: Callable[[Response], _T]
    ) -> _T:
        """Makes one attempt. Raises InklingError for every status except 2xx and 304."""
        try:
            return self._exchange(request, left, read)
        except socket.timeout as error:
            raise InklingError("TIMED_OUT", "No answer within %d ms" % round(limit * 1000)) from error
        except (OSError, http.client.HTTPException) as error:
            raise InklingError("CONNECTION_FAILED", "The server could not be reached") from error

    def _exchange(self, request: Request, left: Left, read: Callable[[Response], _T]) -> _T:
        while True:
            try:
                connection, is_used = self._idle.pop(), True
            except IndexError:
                connection, is_used = self._connect(left), False
            response = None
            try:
                response = self._ask(connection, request, left)
                if response.status // 100 != 2 and response.status != 304:
                    raise _refusal(response)
                return read(response)
            except (ConnectionError, ssl.SSLEOFError, http.client.BadStatusLine):
                if response is not None or not is_used:
                    raise
                # the server had closed the idle connection
            finally:
                if response is not None and response.isclosed() and connection.sock is not None:
                    self._idle.append(connection)  # its response was fully read
                else:
                    connection.close()

    def _ask(
        self, connection: http.client.HTTPConnection, request: Request, left: Left
    ) -> http.client.HTTPResponse:
        sock = connection.sock
        _limit(sock, left)
        headers = {"Host": self._authority, "Accept": request.media_type, **self._authorization}
        if request.body is not None:
            headers["Content-Type"] = request.media_type
        if request.etag is not None:
            headers["If-None-Match"] = request.etag
        if request.idempotency_key is not None:
            headers["Idempotency-Key"] = request.idempotency_key
        method = "GET" if request.body is None else "POST"
        connection.response_class = lambda sock, *args, **named: http.client.HTTPResponse(  # type: ignore
            _Reader(sock, left), *args, **named  # type: ignore
        )
        connection.request(method, self._prefix + request.path, request.body, headers)
        return connection.getresponse()

    def _connect(self, left: Left) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port)
        failure = OSError("no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(
            self._host, self._port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind, protocol)
            try:
                _limit(sock, left)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is not None:
                    _limit(sock, left)
                    sock = self._tls.wrap_socket(sock, server_hostname=self._host)
                connection.sock = sock
                return connection
            except OSError as error:
                sock.close()
                failure = error
        raise failure


_transports: "weakref.WeakSet[Transport]" = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_transports):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def parse_json(body: bytes) -> Any:
    """Returns None if the body is not JSON. Drops the parser's message, because it quotes the text."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def unreadable(response: Response, message: str, hint: Optional[str] = None) -> InklingError:
    found = re.match(r"[\w.+-]+/[\w.+-]+", response.headers.get("Content-Type") or "")
    return InklingError(
        "ANSWER_UNREADABLE",
        "%s: %s" % (message, found.group() if found else "no content type"),
        http_status=response.status,
        request_id=response.headers.get("X-Request-Id"),
        retry_after=retry_after(response.headers.get("Retry-After")),
        hint=hint,
    )


def _refusal(response: http.client.HTTPResponse) -> InklingError:
    value = parse_json(response.read())
    if 300 <= response.status < 400:
        hint = "set `url` to the address after the redirect, for example https instead of http, or the new host name"
        return unreadable(response, "The server returned a redirect", hint)
    if is_problem(value):
        headers = response.headers
        return problem_error(value, headers.get("X-Request-Id"), retry_after(headers.get("Retry-After")))
    return unreadable(response, "Status %d without a problem document" % response.status)
