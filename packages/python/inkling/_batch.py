"""Looks up any number of values through requests of bounded size, with answers in order.

At most `concurrency` requests of `size` values are in progress, and no more values than that are read from the source.
A problem with one value is that value's result. If a request fails for good, InklingError is raised after the results
that arrived earlier. Requests are NDJSON. After a broken connection, only the values without an answer are sent again.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Deque, Generic, Iterable, Iterator, List, Literal, Optional, Sequence, Tuple, TypeVar, Union

from ._data import DataState, Response
from ._errors import InklingError, is_problem, problem_error
from ._generated import ANSWERS
from ._transport import Request, Transport, parse_json, pause_before

_A = TypeVar("_A")
_NDJSON = "application/x-ndjson"


@dataclass(frozen=True)
class BatchAnswer(Generic[_A]):
    """The answer to one value."""

    value: str
    # How complete the data behind the answer is.
    data: DataState
    # None if the address has no known location.
    answer: _A
    error: None = None
    ok: Literal[True] = True


@dataclass(frozen=True)
class BatchError:
    """The error of one value."""

    value: str
    data: DataState
    error: InklingError
    answer: None = None
    ok: Literal[False] = False


# Type checkers know from `ok` which of the two a result is.
BatchResult = Union[BatchAnswer[_A], BatchError]


@dataclass(frozen=True)
class Batch:
    transport: Transport
    lookup: str
    # The path with its query.
    path: str
    required: Sequence[str]
    retries: int
    # Maximum seconds without data from the server.
    timeout: float
    size: int
    concurrency: int

    def results(self, values: Iterable[str]) -> Iterator[BatchResult[Any]]:
        for group in self.groups(values):
            yield from group

    def groups(self, values: Iterable[str]) -> Iterator[List[BatchResult[Any]]]:
        """Yields the results of one request at a time."""
        source = iter(values)
        groups: Deque["Future[Tuple[List[BatchResult[Any]], Optional[InklingError]]]"] = deque()
        stop = threading.Event()
        pool = ThreadPoolExecutor(self.concurrency, "inkling-batch")
        failure: Optional[BaseException] = None
        is_ended = False
        try:
            while True:
                while not is_ended and len(groups) < self.concurrency:
                    try:
                        group = list(islice(source, self.size))
                    except Exception as error:  # from the source; raised after the earlier results
                        failure, group = error, []
                    if not all(isinstance(value, str) for value in group):
                        failure, group = TypeError("inkling: values to look up must be strings"), []
                    is_ended = len(group) == 0
                    if group:
                        groups.append(pool.submit(self._group, group, stop))
                if not groups:
                    break
                results, error_of_group = groups.popleft().result()
                if results:
                    yield results
                if error_of_group is not None:
                    raise error_of_group
            if failure is not None:
                raise failure
        finally:
            stop.set()
            pool.shutdown(wait=False)

    def _group(
        self, values: List[str], stop: threading.Event
    ) -> Tuple[List[BatchResult[Any]], Optional[InklingError]]:
        results: List[BatchResult[Any]] = []
        failures = 0
        while len(results) < len(values) and not stop.is_set():
            before = len(results)
            body = "".join(json.dumps(value) + "\n" for value in values[before:])
            request = Request(self.path, body.encode(), _NDJSON)
            last = [time.monotonic()]
            try:
                self.transport.once(
                    request,
                    self.timeout,
                    lambda: 0.0 if stop.is_set() else last[0] + self.timeout - time.monotonic(),
                    lambda response: self._read(response, values, results, last),
                )
            except InklingError as error:
                if len(results) > before:
                    failures = 0
                failures += 1
                if not error.is_retryable or failures > self.retries:
                    return results, error
                pause = pause_before(failures, error.retry_after)
                if pause > self.timeout:  # for example a quota that is used up until midnight
                    return results, error
                stop.wait(pause)
        return results, None

    def _read(
        self, response: Response, values: List[str], results: List[BatchResult[Any]], last: List[float]
    ) -> None:
        data = DataState.read(response.headers)
        require_data(self.required, data, response)
        if not (response.headers.get("Content-Type") or "").startswith(_NDJSON):
            raise _unreadable("The answer is not NDJSON")
        request_id = response.headers.get("X-Request-Id")
        rest = b""
        while True:
            piece = response.read1(65_536)
            last[0] = time.monotonic()
            *lines, rest = (rest + piece).split(b"\n")
            if not piece and parse_json(rest) is not None:
                lines.append(rest)  # a last line without a newline counts only if it is complete
            for line in lines:
                if line.strip():
                    if len(results) == len(values):
                        raise _unreadable("The server returned more answers than there were values")
                    results.append(self._result(values[len(results)], line, request_id, data))
            if not piece:
                break
        response.read()  # closes the response, so that its connection is reused
        if len(results) < len(values):
            raise InklingError("CONNECTION_FAILED", "The answer was cut short")

    def _result(
        self, value: str, line: bytes, request_id: Optional[str], data: DataState
    ) -> BatchResult[Any]:
        parsed = parse_json(line)
        if is_problem(parsed):
            if parsed["code"] == "IP_ADDRESS_NOT_FOUND":
                return BatchAnswer(value, data, None)
            return BatchError(value, data, problem_error(parsed, request_id))
        answer = read_answer(self.lookup, parsed, data)
        if answer is None:
            raise _unreadable("A line of the answer is neither an answer nor a problem")
        return BatchAnswer(value, data, answer)


def _unreadable(message: str) -> InklingError:
    return InklingError("ANSWER_UNREADABLE", message)


def read_answer(lookup: str, value: Any, data: DataState) -> Any:
    """Reads an answer.

    Returns None for other JSON, which also lacks flags and must not be mistaken for "no flag is set".
    """
    try:
        return ANSWERS[lookup].read(value, data)
    except (AttributeError, KeyError, TypeError):
        return None


def require_data(required: Sequence[str], data: DataState, response: Optional[Response]) -> None:
    if not data.lacks(required):
        return
    lacking = ", ".join(data.lacking(required))
    is_missing = all(name in data.missing for name in data.lacking(required))
    what = "The server has no data for %s" if is_missing else "The server's data is incomplete for %s"
    raise InklingError(
        "DATA_INCOMPLETE",
        what % lacking
        if lacking
        else "The client cannot tell whether the server has all data",
        http_status=None if response is None else response.status,
        request_id=None if response is None else response.headers.get("X-Request-Id"),
        hint=None
        if lacking
        else "the answer has no Inkling-Data-Version header: a proxy removes it, and probably Inkling-Data-State as well",
    )
