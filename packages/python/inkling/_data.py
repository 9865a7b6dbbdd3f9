"""How complete the data behind an answer is: Inkling-Data-State and Inkling-Data-Version of a response."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Mapping, Optional, Sequence, Tuple


@dataclass(frozen=True)
class DataState:
    # No data at all is loaded for these: the flag is False for every value.
    missing: Tuple[str, ...] = ()
    # Some of the feeds behind these could not be loaded: the flag may be False where it should not be.
    incomplete: Tuple[str, ...] = ()
    # The server's release of data; None when something on the way removed Inkling-Data-Version.
    version: Optional[str] = None
    # How many hours ago publishers made the data behind these, as far as known; empty if the server sends no ages.
    age_hours: Mapping[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def read(cls, headers: Mapping[str, str]) -> "DataState":
        state = headers.get("Inkling-Data-State") or ""

        def names(parameter: str) -> Tuple[str, ...]:
            found = re.search(r";\s*%s=\"([^\"]*)\"" % parameter, state)
            return tuple(found.group(1).split()) if found else ()

        return cls(
            names("missing"), names("incomplete"), headers.get("Inkling-Data-Version"), _read_ages(names("age"))
        )

    def lacks(self, required: Sequence[str]) -> bool:
        """Is anything missing? Without a version the header for the state may have been removed as well."""
        return bool(required) and (self.version is None or bool(self.lacking(required)))

    def lacking(self, required: Sequence[str]) -> Tuple[str, ...]:
        return tuple(name for name in required if name in self.missing or name in self.incomplete)


def _read_ages(texts: Sequence[str]) -> Mapping[str, int]:
    """Of "geolocation:171d" and "is_proxy:3h"; other units, which a later server may use, are left out."""
    found = (re.match(r"([a-z_]+):([0-9]+)([hd])$", text) for text in texts)
    return {age.group(1): int(age.group(2)) * (24 if age.group(3) == "d" else 1) for age in found if age}
