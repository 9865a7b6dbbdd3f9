"""Client of an Inkling server: IP geolocation, IP reputation and disposable-email detection."""

from ._batch import BatchResult
from ._client import Inkling
from ._data import DataState
from ._errors import InklingError, Unavailable, denies
from ._generated import (
    CLIENT_CODES,
    SERVER_CODES,
    EmailVerdict,
    EvidenceEntry,
    Geolocation,
    Network,
    Reputation,
)

__all__ = [
    "CLIENT_CODES",
    "SERVER_CODES",
    "BatchResult",
    "DataState",
    "EmailVerdict",
    "EvidenceEntry",
    "Geolocation",
    "Inkling",
    "InklingError",
    "Network",
    "Reputation",
    "Unavailable",
    "denies",
]
