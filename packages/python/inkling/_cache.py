from __future__ import annotations

import re
import time
from collections import OrderedDict
from typing import Any, NamedTuple, Optional

from ._data import DataState, Headers


class Stored(NamedTuple):
    value: Any
    data: DataState
    etag: Optional[str]
    fresh_until: float


class Cache:
    """A least-recently-used cache of answers (RFC 9111).

    Answers are fresh for as long as Cache-Control allows. After that, they are validated by their ETag.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: "OrderedDict[str, Stored]" = OrderedDict()

    def find(self, path: str) -> Optional[Stored]:
        entry = self._entries.pop(path, None)
        if entry is not None:
            self._entries[path] = entry  # the newest entry is last
        return entry

    def store(self, path: str, value: Any, data: DataState, headers: Headers) -> None:
        self._entries.pop(path, None)
        control = [part.strip() for part in (headers.get("Cache-Control") or "").lower().split(",")]
        if self._most == 0 or "no-store" in control:
            return
        ages = [re.fullmatch(r'max-age="?([0-9]{1,9})"?', part) for part in control]
        age = headers.get("Age") or ""
        longest = 0 if "no-cache" in control else next((int(it.group(1)) for it in ages if it), 0)
        fresh = longest - (int(age) if re.fullmatch("[0-9]{1,9}", age) else 0)
        etag = headers.get("ETag")
        if fresh <= 0 and etag is None:
            return
        self._entries[path] = Stored(value, data, etag, time.monotonic() + max(0, fresh))
        while len(self._entries) > self._most:
            try:
                self._entries.popitem(last=False)
            except KeyError:  # another thread removed it first
                break
