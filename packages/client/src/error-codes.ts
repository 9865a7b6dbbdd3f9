// error-codes.ts: every code of a lookup's error, and what to do about it. Written by `npm run generate`; do not edit.

// biome-ignore-all format: one row a line

/** Of the server (docs/errors.md). */
export const SERVER_HINTS = {
  PATH_INVALID: "pass the value unescaped: this client escapes it",
  PARAMETER_INVALID: "this server does not support the parameter: compare its version with the client's",
  IP_ADDRESS_INVALID: "send one IPv4 or IPv6 address without port, prefix, zone or brackets",
  IP_ADDRESS_RESERVED: "no visitor from the internet has this address: behind a proxy set `trustProxy`; on your own machine set `loopback`",
  HOST_INVALID: "a proxy between here and the server changes the Host header: check `url`",
  BODY_INVALID: "the detail names each invalid member",
  IDEMPOTENCY_KEY_INVALID: "use a new key for each visitor, and the same key only to repeat the same request",
  BATCH_INVALID: "the server does not understand this client's request: compare their versions",
  VALUE_INVALID: "a value must be a string of at most 64 KiB",
  KEY_MISSING: "a proxy between here and the server removes the Authorization header; with `key: null` it must add one",
  KEY_INVALID: "compare the key with `inkling keys list` on the server",
  KEY_EXPIRED: "create a new key with `inkling keys create`; run `inkling keys rotate` before the next one expires",
  SCOPE_REQUIRED: "create a key with this scope: `inkling keys create --scopes geolocate,reputation,email`",
  SOURCE_NOT_ALLOWED: "the key is bound to networks: `inkling keys list` on the server shows them",
  CALLER_UNKNOWN: "the key is bound to networks, but the proxy in front of the server does not send X-Forwarded-For: configure the proxy to send it",
  SIGNATURE_INVALID: "only Supabase calls /v1/hooks/supabase",
  VISITOR_DENIED: "this visitor has a flag listed in the `deny` parameter of /v1/forward-auth",
  PATH_NOT_FOUND: "set `url` to the server's address, without an API path",
  DECISION_NOT_FOUND: "set INKLING_DECISIONS=1 on the server, and send outcomes before INKLING_DECISIONS_DAYS have passed",
  IP_ADDRESS_NOT_FOUND: "the data has no location for this address",
  METHOD_NOT_ALLOWED: "the server is older than this client, or a proxy refuses POST",
  CONTENT_TOO_LARGE: "send fewer values per request",
  CONTENT_TYPE_INVALID: "the server does not understand this client's request: compare their versions",
  SANDBOX_VALUE_REQUIRED: "this is a sandbox key (ink_test_…): configure a key that begins with ink_live_",
  RATE_LIMITED: "send requests more slowly, or raise the key's rate: `inkling keys update ID --rate NUMBER`",
  TOO_MANY_STREAMS: "send more values in each stream, or close some streams",
  QUOTA_EXCEEDED: "wait until midnight UTC, or raise the key's quota: `inkling keys update ID --quota NUMBER`",
  INTERNAL: "the server's log has the cause under the request id",
  DATA_NOT_LOADED: "run `inkling data update` on the server; `inkling data status` shows what is missing",
  DECISIONS_UNREACHABLE: "run `inkling doctor` on the server: it cannot reach its database",
  KEYS_NOT_LOADED: "the server has not reached its database since it started: run `inkling doctor` there",
} as const;

/** Failures that only the client can detect. */
export const CLIENT_HINTS = {
  CONNECTION_FAILED: "check that the server is running and that `url` is its address (in a browser, the page's own origin); `cause` has the runtime's error",
  TIMED_OUT: "raise `timeoutMs`, or check the server's load",
  ANSWER_UNREADABLE: "the answer is not from Inkling: check `url`, and the proxy in front of the server",
  DATA_INCOMPLETE: "`require` names this data: run `inkling data update` on the server. `inkling data status` shows the missing feeds; `inkling feeds disable ID` turns one off",
  ADDRESS_UNKNOWN: "this runtime does not provide the visitor's address, or a proxy sent a value that is not an address: set `address`",
  CLOSED: "`close()` was called: create a new instance for further lookups",
} as const;
