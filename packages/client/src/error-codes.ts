// error-codes.ts: every code of a lookup's error, and what to do about it. Written by `npm run generate`; do not edit.

// biome-ignore-all format: one row a line

/** Of the server (docs/errors.md). */
export const SERVER_HINTS = {
  PATH_INVALID: "send the value as it is: this client escapes it",
  PARAMETER_INVALID: "this server does not offer what was asked for: look at its version",
  IP_ADDRESS_INVALID: "send one IPv4 or IPv6 address without port, prefix, zone or brackets",
  IP_ADDRESS_RESERVED: "no visitor from the internet has this address: behind a proxy set `trustProxy`; on your own machine set `loopback`",
  HOST_INVALID: "something between here and the server changes the Host header; look at `url`",
  BODY_INVALID: "the detail names each member that is wrong",
  IDEMPOTENCY_KEY_INVALID: "use a new key for each visitor, and the same key only to repeat the same request",
  BATCH_INVALID: "the server does not understand this client: look at their versions",
  VALUE_INVALID: "a value must be a string of at most 64 KiB",
  KEY_MISSING: "something between here and the server removes the Authorization header; with `key: null` it has to add it",
  KEY_INVALID: "compare the key with `inkling keys list` on the server",
  KEY_EXPIRED: "make a new key with `inkling keys create`, or `inkling keys rotate` before the next one expires",
  SCOPE_REQUIRED: "make a key with this scope: `inkling keys create --scopes geolocate,reputation,email`",
  SOURCE_NOT_ALLOWED: "the key is bound to networks: `inkling keys list` on the server shows them",
  CALLER_UNKNOWN: "the key is bound to networks, and the proxy in front of the server sends no X-Forwarded-For: configure it to",
  SIGNATURE_INVALID: "/v1/hooks/supabase is called by Supabase, not by this client",
  VISITOR_DENIED: "`deny` of /v1/forward-auth names a flag of this visitor",
  PATH_NOT_FOUND: "is `url` the address of the server, without a path of the API?",
  DECISION_NOT_FOUND: "set INKLING_DECISIONS=1 on the server, and send outcomes before INKLING_DECISIONS_DAYS have passed",
  IP_ADDRESS_NOT_FOUND: "no data has a place for this address",
  METHOD_NOT_ALLOWED: "the server is older than this client, or something in between refuses POST",
  CONTENT_TOO_LARGE: "ask about fewer values in one request",
  CONTENT_TYPE_INVALID: "the server does not understand this client: look at their versions",
  SANDBOX_VALUE_REQUIRED: "a sandbox key (ink_test_…) is in use: configure one that begins with ink_live_",
  RATE_LIMITED: "ask more slowly, or give the key a higher rate: `inkling keys create --rate`",
  TOO_MANY_STREAMS: "send more values in each stream, or end some",
  QUOTA_EXCEEDED: "wait until midnight UTC, or give the key a higher quota",
  INTERNAL: "the server's log holds the cause under the request's id",
  DATA_NOT_LOADED: "run `inkling data update` on the server; `inkling data status` says what is missing",
  DECISIONS_UNREACHABLE: "run `inkling doctor` on the server: it cannot reach its database",
  KEYS_NOT_LOADED: "the server has not reached its database since it started: run `inkling doctor` there",
} as const;

/** Failures that only the client can detect. */
export const CLIENT_HINTS = {
  CONNECTION_FAILED: "is the server running, and is `url` its address (in a browser: of the page's own origin)? `cause` holds the runtime's own error",
  TIMED_OUT: "raise `timeoutMs`, or look at the server's load",
  ANSWER_UNREADABLE: "what answered is not Inkling: look at `url`, and at the proxy in front of the server",
  DATA_INCOMPLETE: "`require` names it: run `inkling data update` on the server; `inkling data status` names the missing feeds, and `inkling feeds disable ID` does without one",
  ADDRESS_UNKNOWN: "this runtime does not tell the visitor's address, or a proxy passed on something else: set `address`",
  CLOSED: "`close()` was called: create another instance for further lookups",
} as const;
