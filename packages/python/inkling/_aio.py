"""The client for asyncio.

Each lookup runs in a thread of the client's own, so retries, time limits, connections and the circuit breaker are those
of `Inkling`. A lookup that is cancelled ends on its own within its time limit, and its answer is dropped.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Generic,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
    overload,
)

from ._batch import BatchResult
from ._client import _U, Inkling, _values, _whole
from ._errors import InklingError
from ._generated import Decision, EmailVerdict, Geolocation, Reputation

_T = TypeVar("_T")


class AsyncInkling(Generic[_U]):
    """`AsyncInkling(Inkling(url, key))`: the same methods as the client that it gets, to be awaited.

    At most `threads` lookups run at a time. The time that a lookup waits for a thread counts towards its `timeout`.
    """

    def __init__(self, client: Inkling[_U], *, threads: int = 32) -> None:
        # The client that answers, for code outside asyncio.
        self.sync = client
        self._threads = _whole("threads", threads, 1, 1_000)
        self._pool: Optional[ThreadPoolExecutor] = None
        self._pid = 0

    async def geolocate(
        self,
        ip: str,
        *,
        evidence: bool = False,
        network: bool = False,
        subject: bool = False,
        require: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Union[Geolocation, _U, None]:
        """As Inkling.geolocate."""
        options: Any = {"evidence": evidence, "network": network, "subject": subject, "require": require}
        return await self._within(timeout, lambda left: self.sync.geolocate(ip, timeout=left, **options))

    async def reputation(
        self,
        ip: str,
        *,
        evidence: bool = False,
        network: bool = False,
        subject: bool = False,
        require: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Union[Reputation, _U]:
        """As Inkling.reputation."""
        options: Any = {"evidence": evidence, "network": network, "subject": subject, "require": require}
        return await self._within(timeout, lambda left: self.sync.reputation(ip, timeout=left, **options))

    async def email(
        self,
        address: str,
        *,
        evidence: bool = False,
        checks: Sequence[str] = (),
        require: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Union[EmailVerdict, _U]:
        """As Inkling.email."""
        options: Any = {"evidence": evidence, "checks": checks, "require": require}
        return await self._within(timeout, lambda left: self.sync.email(address, timeout=left, **options))

    async def assess(
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
        """As Inkling.assess."""
        visitor: Any = {"ip": ip, "email": email, "user_agent": user_agent, "ref": ref, "previous": previous}
        visitor.update(account=account, expected_country=expected_country, facts=facts, with_evidence=with_evidence)
        visitor.update(with_facts=with_facts, idempotency_key=idempotency_key)
        return await self._within(timeout, lambda left: self.sync.assess(event, timeout=left, **visitor))

    async def outcome(
        self, id: str, outcome: Literal["legitimate", "fraud"], *, timeout: Optional[float] = None
    ) -> None:
        """As Inkling.outcome."""
        await self._in_thread(lambda: self.sync.outcome(id, outcome, timeout=timeout))

    @overload
    def batch(
        self, lookup: Literal["geolocate"], values: Iterable[str], **options: Any
    ) -> AsyncIterator[BatchResult[Optional[Geolocation]]]: ...

    @overload
    def batch(
        self, lookup: Literal["reputation"], values: Iterable[str], **options: Any
    ) -> AsyncIterator[BatchResult[Reputation]]: ...

    @overload
    def batch(
        self, lookup: Literal["email"], values: Iterable[str], **options: Any
    ) -> AsyncIterator[BatchResult[EmailVerdict]]: ...

    def batch(
        self, lookup: str, values: Iterable[str], **options: Any
    ) -> AsyncIterator[BatchResult[Any]]:
        """As Inkling.batch. A thread reads `values`, so reading may block."""
        return self._results(self.sync._batch(lookup, **options).groups(_values(values)))

    async def _results(self, groups: Iterator[List[BatchResult[Any]]]) -> AsyncIterator[BatchResult[Any]]:
        nothing: List[BatchResult[Any]] = []
        while True:
            group = await self._in_thread(lambda: next(groups, nothing))
            if not group:
                return
            for result in group:
                yield result

    async def _within(self, timeout: Optional[float], look_up: Callable[[float], Union[_T, _U]]) -> Union[_T, _U]:
        limit = self.sync._limit(timeout)
        end = time.monotonic() + limit

        def run() -> Union[_T, _U]:
            left = end - time.monotonic()
            if left >= 0.001:
                return look_up(left)
            late = InklingError("TIMED_OUT", "No thread was free within %d ms" % round(limit * 1000))
            return self.sync._settle(late)

        return await self._in_thread(run)

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        if self._pool is None or self._pid != os.getpid():  # a child process has none of its parent's threads
            self._pool, self._pid = ThreadPoolExecutor(self._threads, "inkling"), os.getpid()
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)
