"""Client for an Inkling server.

It offers IP geolocation, IP reputation, disposable-email detection, and decisions about visitors.
"""

from ._address import visitor_address
from ._aio import AsyncInkling
from ._batch import BatchAnswer, BatchError, BatchResult
from ._client import Inkling
from ._data import DataState
from ._errors import InklingError, Unavailable, denies
from ._generated import (
    CLIENT_CODES,
    SERVER_CODES,
    Decision,
    EmailVerdict,
    EvidenceEntry,
    Geolocation,
    Network,
    Reason,
    Reputation,
    ShadowRule,
)
from ._protect import Admitted, InvalidEmail

__all__ = [
    "Admitted",
    "AsyncInkling",
    "CLIENT_CODES",
    "SERVER_CODES",
    "Decision",
    "BatchAnswer",
    "BatchError",
    "BatchResult",
    "DataState",
    "EmailVerdict",
    "EvidenceEntry",
    "Geolocation",
    "Inkling",
    "InklingError",
    "InvalidEmail",
    "Network",
    "Reason",
    "Reputation",
    "ShadowRule",
    "Unavailable",
    "denies",
    "visitor_address",
]
