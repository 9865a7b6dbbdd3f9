"""How complete the data behind an answer is, from a response's Inkling-Data-State and Inkling-Data-Version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Mapping, Optional, Protocol, Sequence, Tuple


class Headers(Protocol):
    """The headers of a response, whose names ignore case."""

    def get(self, name: str, /) -> Optional[str]: ...


class Response(Protocol):
    """The parts of a response that are read: those of http.client, or of a fake."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    def read(self) -> bytes: ...
    def read1(self, most: int, /) -> bytes: ...


@dataclass(frozen=True)
class DataState:
    # Flags and answers without any loaded data. These flags are False for every value.
    missing: Tuple[str, ...] = ()
    # Flags and answers for which some feeds could not be loaded. These flags may be False when they should be True.
    incomplete: Tuple[str, ...] = ()
    # The server's data release. None if a proxy removed Inkling-Data-Version.
    version: Optional[str] = None
    # Age in hours of the publishers' data behind each flag or answer, if known. Empty if the server sends no ages.
    age_hours: Mapping[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def read(cls, headers: Headers) -> "DataState":
        state = headers.get("Inkling-Data-State") or ""

        def names(parameter: str) -> Tuple[str, ...]:
            found = re.search(r";\s*%s=\"([^\"]*)\"" % parameter, state)
            return tuple(found.group(1).split()) if found else ()

        return cls(
            names("missing"), names("incomplete"), headers.get("Inkling-Data-Version"), _read_ages(names("age"))
        )

    def lacks(self, required: Sequence[str]) -> bool:
        """Is any required data missing or incomplete?

        Without a version, the state header may have been removed as well.
        """
        return bool(required) and (self.version is None or bool(self.lacking(required)))

    def lacking(self, required: Sequence[str]) -> Tuple[str, ...]:
        return tuple(name for name in required if name in self.missing or name in self.incomplete)


def _read_ages(texts: Sequence[str]) -> Mapping[str, int]:
    """Parses "geolocation:171d" and "is_proxy:3h". Skips other units, which a later server may use."""
    found = (re.match(r"([a-z_]+):([0-9]+)([hd])$", text) for text in texts)
    return {age.group(1): int(age.group(2)) * (24 if age.group(3) == "d" else 1) for age in found if age}
