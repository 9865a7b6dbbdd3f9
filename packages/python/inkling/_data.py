"""How complete the data behind an answer is: Inkling-Data-State and Inkling-Data-Version of a response."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Mapping, Optional, Sequence, Tuple


@dataclass(frozen=True)
class DataState:
    # No data at all is loaded for these: the flag is False for every value.
    missing: Tuple[str, ...] = ()
    # Some of the feeds behind these could not be loaded: the flag may be False where it should not be.
    incomplete: Tuple[str, ...] = ()
    # The server's release of data; None when something on the way removed Inkling-Data-Version.
    version: Optional[str] = None

    @classmethod
    def read(cls, headers: Mapping[str, str]) -> "DataState":
        state = headers.get("Inkling-Data-State") or ""

        def names(parameter: str) -> Tuple[str, ...]:
            found = re.search(r";\s*%s=\"([^\"]*)\"" % parameter, state)
            return tuple(found.group(1).split()) if found else ()

        return cls(names("missing"), names("incomplete"), headers.get("Inkling-Data-Version"))

    def lacks(self, required: Sequence[str]) -> bool:
        """Is anything missing? Without a version the header for the state may have been removed as well."""
        return bool(required) and (self.version is None or any(name in self.missing for name in required))
