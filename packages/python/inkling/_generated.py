# Written by `npm run generate` from the OpenAPI document. Do not edit.
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

from ._answer import Answer
from ._data import DataState

# The status of each code, and what to do about it. Codes without a status are the client's own.
ERRORS: Dict[str, Tuple[Optional[int], str]] = {
    "PATH_INVALID": (400, "pass the value unescaped: this client escapes it"),
    "PARAMETER_INVALID": (400, "this server does not support the parameter: compare its version with the client's"),
    "IP_ADDRESS_INVALID": (400, "send one IPv4 or IPv6 address without port, prefix, zone or brackets"),
    "IP_ADDRESS_RESERVED": (400, "no visitor from the internet has this address: behind a proxy, take the visitor's address from the proxy's header"),
    "HOST_INVALID": (400, "a proxy between here and the server changes the Host header: check `url`"),
    "BODY_INVALID": (400, "the detail lists each invalid field"),
    "IDEMPOTENCY_KEY_INVALID": (400, "use a new key for each attempt of a visitor, and the same key only to repeat the same request"),
    "BATCH_INVALID": (400, "the server does not understand this client's request: compare their versions"),
    "VALUE_INVALID": (400, "a value must be a string of at most 64 KiB"),
    "KEY_MISSING": (401, "a proxy between here and the server removes the Authorization header; with `key=None` it must add one"),
    "KEY_INVALID": (401, "compare the key with `inkling keys list` on the server"),
    "KEY_EXPIRED": (401, "create a new key with `inkling keys create`; run `inkling keys rotate` before the next one expires"),
    "SCOPE_REQUIRED": (403, "set all scopes that the key needs: `inkling keys update ID --scopes geolocate,reputation,email`, with `,assess` for decisions"),
    "SOURCE_NOT_ALLOWED": (403, "the key is bound to networks: `inkling keys list` on the server shows them"),
    "CALLER_UNKNOWN": (403, "the key is bound to networks, but the proxy in front of the server does not send X-Forwarded-For: configure the proxy to send it"),
    "SIGNATURE_INVALID": (401, "only Supabase calls /v1/hooks/supabase"),
    "VISITOR_DENIED": (403, "this visitor has a flag listed in the `deny` parameter of /v1/forward-auth"),
    "PATH_NOT_FOUND": (404, "set `url` to the server's address, without an API path"),
    "DECISION_NOT_FOUND": (404, "set INKLING_DECISIONS=1 on the server, and send outcomes before INKLING_DECISIONS_DAYS have passed"),
    "IP_ADDRESS_NOT_FOUND": (404, "the data has no location for this address"),
    "METHOD_NOT_ALLOWED": (405, "the server is older than this client, or a proxy refuses POST"),
    "CONTENT_TOO_LARGE": (413, "send fewer values per request"),
    "CONTENT_TYPE_INVALID": (415, "the server does not understand this client's request: compare their versions"),
    "SANDBOX_VALUE_REQUIRED": (422, "this is a sandbox key (ink_test_…): configure a key that begins with ink_live_"),
    "RATE_LIMITED": (429, "send requests more slowly, or raise the key's rate: `inkling keys update ID --rate NUMBER`"),
    "TOO_MANY_STREAMS": (429, "send more values in each stream, or close some streams"),
    "QUOTA_EXCEEDED": (429, "wait until midnight UTC, or raise the key's quota: `inkling keys update ID --quota NUMBER`"),
    "INTERNAL": (500, "the server's log has the cause under the request id"),
    "DATA_NOT_LOADED": (503, "run `inkling data update` on the server; run `inkling data status` to see what is missing"),
    "DECISIONS_UNREACHABLE": (503, "run `inkling doctor` on the server: it cannot reach its database"),
    "KEYS_NOT_LOADED": (503, "the server has not reached its database since it started: run `inkling doctor` there"),
    "CONNECTION_FAILED": (None, "check that the server is running and that `url` is its address; `__cause__` has the error behind it"),
    "TIMED_OUT": (None, "raise `timeout`, or check the server's load"),
    "ANSWER_UNREADABLE": (None, "the answer is not from Inkling: check `url`, and the proxy in front of the server"),
    "DATA_INCOMPLETE": (None, "`require` lists this data: run `inkling data update` on the server. Run `inkling data status` to see the missing feeds; `inkling feeds disable ID` turns one off"),
    "ADDRESS_UNKNOWN": (None, "this runtime does not provide the visitor's address, or a proxy sent a value that is not an address: set `address`"),
}
SERVER_CODES: Tuple[str, ...] = tuple(code for code, (status, _) in ERRORS.items() if status)
CLIENT_CODES: Tuple[str, ...] = tuple(code for code, (status, _) in ERRORS.items() if not status)
# The data that may be missing from the answers of each lookup.
DATA_OF: Dict[str, Tuple[str, ...]] = {
    "geolocate": ("geolocation",),
    "reputation": ("is_abuser", "is_proxy", "is_tor_exit",),
    "email": ("disposable",),
}
ACTIONS: Tuple[str, ...] = ("allow", "challenge", "deny")
OUTCOMES: Tuple[str, ...] = ("legitimate", "fraud")
# The fields that describe a visitor.
VISITOR_FIELDS: Tuple[str, ...] = ("event", "ip", "email", "user_agent", "account", "ref", "expected_country", "previous", "facts")
# Every field that an answer can have.
FIELDS = frozenset(("action", "checks", "city", "continent", "country", "data", "data_version", "degraded", "did_you_mean", "disposable", "email", "evidence", "evidence_truncated", "facts", "history", "id", "ip", "is_abuser", "is_proxy", "is_tor_exit", "json", "location", "network", "postal", "prefix", "providers", "reasons", "registered_country", "review", "rule", "ruleset", "score", "shadow", "subdivisions", "valid"))


@dataclass(frozen=True)
class City(Answer):
    name: Optional[str] = None


@dataclass(frozen=True)
class Continent(Answer):
    # Known: AF, AN, AS, EU, NA, OC, SA.
    code: Optional[str] = None
    name: Optional[str] = None


@dataclass(frozen=True)
class Country(Answer):
    # ISO 3166-1 alpha-2; XK is Kosovo
    iso_code: Optional[str] = None
    name: Optional[str] = None


@dataclass(frozen=True)
class Location(Answer):
    # Whole kilometres, chosen so that 67% of addresses should lie within
    accuracy_radius: Optional[int] = None
    latitude: Optional[float] = None
    longitude: Optional[float] = None
    # IANA name
    time_zone: Optional[str] = None


@dataclass(frozen=True)
class Postal(Answer):
    code: Optional[str] = None


@dataclass(frozen=True)
class Subdivision(Answer):
    # The part of the ISO 3166-2 code after the hyphen
    iso_code: Optional[str] = None
    name: Optional[str] = None


@dataclass(frozen=True)
class Network(Answer):
    """The owner and kind of an address's network."""

    # The largest surrounding network with identical values
    prefix: str
    # Known: hosting, isp, mobile, education, government, business, unknown.
    kind: str
    # True if the operator declares that many people share one address
    shared: bool
    # Services that operators publish for the network, and proxy_seen for proxies seen in it. Later versions may add values.
    # Known: cdn, crawler, gateway, mail_sender, monitor, proxy_seen, relay, resolver, webhook_sender.
    services: Tuple[str, ...]
    # The autonomous system that announces the network
    asn: Optional[int] = None
    # The autonomous system's name
    organization: Optional[str] = None
    # The operator that publishes the network for its service: openai, google
    operator: Optional[str] = None


@dataclass(frozen=True)
class EvidenceEntry(Answer):
    """One claim or rule behind the answer. Later versions may add fields, labels and effects."""

    # A feed id of /v1/status, or another source, such as `override` or `inkling`
    feed: str
    # What the feed claims, such as `vpn` or `relay`
    label: str
    # Known: sets, removes, fills, label.
    effect: str
    # Known: is_abuser, is_proxy, is_tor_exit, disposable.
    flags: Optional[Tuple[str, ...]] = None
    # Fields of the answer filled in by this entry
    fields: Optional[Tuple[str, ...]] = None
    # The override's id
    id: Optional[str] = None
    did_you_mean: Optional[str] = None
    weight: Optional[float] = None
    provider: Optional[str] = None
    first_seen: Optional[str] = None
    why: Optional[str] = None
    network: Optional[str] = None
    domain: Optional[str] = None
    mail_host: Optional[str] = None
    fetched_at: Optional[str] = None
    published_at: Optional[str] = None
    last_seen: Optional[str] = None


@dataclass(frozen=True)
class Geolocation(Answer):
    """Every field is always present. Unknown fields inside a field are omitted, never null, empty or 0."""

    city: City
    continent: Continent
    # Where the user is
    country: Country
    location: Location
    postal: Postal
    # Where the address block is registered
    registered_country: Country
    # From largest to smallest
    subdivisions: Tuple[Subdivision, ...]
    # Only with `include=subject`: the address that was looked up, normalized
    ip: Optional[str] = None
    # Only with `include=subject`: the network in the data that has this answer
    prefix: Optional[str] = None
    # Only with `include=network`; null if the release has no such data
    network: Optional[Network] = None
    # Only with `include=evidence`
    evidence: Optional[Tuple[EvidenceEntry, ...]] = None
    # True if there was more evidence than fits in the answer
    evidence_truncated: Optional[bool] = None
    # As the server sent it.
    json: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # How complete the data behind it is.
    data: DataState = field(default=DataState(), compare=False, repr=False)


@dataclass(frozen=True)
class Reputation(Answer):
    is_abuser: bool
    is_proxy: bool
    is_tor_exit: bool
    # Only with `include=subject`: the address that was looked up, normalized
    ip: Optional[str] = None
    # Only with `include=subject`: the network in the data that has this answer
    prefix: Optional[str] = None
    # Only with `include=network`; null if the release has no such data
    network: Optional[Network] = None
    # Only with `include=evidence`
    evidence: Optional[Tuple[EvidenceEntry, ...]] = None
    # True if there was more evidence than fits in the answer
    evidence_truncated: Optional[bool] = None
    # As the server sent it.
    json: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # How complete the data behind it is.
    data: DataState = field(default=DataState(), compare=False, repr=False)


@dataclass(frozen=True)
class Checks(Answer):
    """Only with `checks=mx`"""

    # Known: found, implicit, none, null, nxdomain, timeout, failed, busy, skipped.
    mx: str


@dataclass(frozen=True)
class EmailVerdict(Answer):
    # True if the address could receive mail from the internet, judging by its text only
    valid: bool
    disposable: bool
    # The list entry that matched, then the service behind that domain; empty if not disposable
    providers: Tuple[str, ...]
    # Only with `checks=mx`
    checks: Optional[Checks] = None
    # Only with `include=evidence`
    evidence: Optional[Tuple[EvidenceEntry, ...]] = None
    # True if there was more evidence than fits in the answer
    evidence_truncated: Optional[bool] = None
    # As the server sent it.
    json: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # How complete the data behind it is.
    data: DataState = field(default=DataState(), compare=False, repr=False)


@dataclass(frozen=True)
class Reason(Answer):
    code: str
    weight: float
    # The share of labelled decisions with this reason that were fraud, rounded to two decimals. Only if at least 20 decisions of the last 90 days with this reason are labelled
    precision: Optional[float] = None


@dataclass(frozen=True)
class ShadowRule(Answer):
    rule: str
    # Known: allow, challenge, deny.
    action: str
    review: Optional[bool] = None


@dataclass(frozen=True)
class Remembered(Answer):
    fact: str
    # What the server remembers, as a sentence
    text: str
    # The newest decision behind it
    decision: Optional[str] = None
    # When this decision was made or labelled
    at: Optional[str] = None


@dataclass(frozen=True)
class Ip(Answer):
    """Only with `include=evidence`: the address lookups"""

    geolocate: Optional[Geolocation] = None
    reputation: Optional[Reputation] = None


@dataclass(frozen=True)
class Decision(Answer):
    """The decision about a visitor, and why."""

    # The decision's id
    id: str
    # What to do with the visitor
    # Known: allow, challenge, deny.
    action: str
    # True if a rule asks for a manual review
    review: bool
    # 1 - (1 - weight) * (1 - weight) ... over the reasons, rounded to two decimals. It is not a probability
    score: float
    # The reasons behind the score. Later versions may add codes
    reasons: Tuple[Reason, ...]
    # The first live rule that matched; null if none did. The rule decided, unless its action is milder than the decision's: then the score decided, because the rule has `at_least`, or `on_missing`, if `degraded` lists data
    rule: Optional[str]
    # What each matching shadow rule would have decided. Shadow rules never change the action
    shadow: Tuple[ShadowRule, ...]
    # Data that was missing. The visitor may be riskier than the answer suggests
    # Known: is_abuser, is_proxy, is_tor_exit, disposable, geolocation, network, history.
    degraded: Tuple[str, ...]
    # The ruleset's number; 0 before the first one is published
    ruleset: int
    # The data release
    data_version: str
    # What earlier decisions say about this visitor, if the ruleset reads facts about it and something is remembered
    history: Optional[Tuple[Remembered, ...]] = None
    # The email address that the visitor probably meant. Only if the address looks mistyped. Ask the visitor, and never send mail to it unasked
    did_you_mean: Optional[str] = None
    # Only with `include=facts`: the facts that rules read, by name. Unknown facts are omitted
    facts: Optional[Mapping[str, Any]] = None
    # Only with `include=evidence`: the address lookups
    ip: Optional[Ip] = None
    # Only with `include=evidence`: the email lookup
    email: Optional[EmailVerdict] = None
    # As the server sent it.
    json: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


ANSWERS: Dict[str, Any] = {"geolocate": Geolocation, "reputation": Reputation, "email": EmailVerdict}
