// error-codes.ts: lists every code of a lookup's error, and what to do about it. Written by `npm run generate`; do not edit.

// biome-ignore-all format: one row a line

/** Of the server (docs/errors.md). */
export const SERVER_ERRORS = {
  PATH_INVALID: { status: 400, hint: "pass the value unescaped: this client escapes it" },
  PARAMETER_INVALID: { status: 400, hint: "this server does not support the parameter: compare its version with the client's" },
  IP_ADDRESS_INVALID: { status: 400, hint: "send one IPv4 or IPv6 address without port, prefix, zone or brackets" },
  IP_ADDRESS_RESERVED: { status: 400, hint: "no visitor from the internet has this address: behind a proxy set `trustProxy`; on your own machine set `loopback`" },
  HOST_INVALID: { status: 400, hint: "a proxy between here and the server changes the Host header: check `url`" },
  BODY_INVALID: { status: 400, hint: "the detail lists each invalid field" },
  IDEMPOTENCY_KEY_INVALID: { status: 400, hint: "use a new key for each attempt of a visitor, and the same key only to repeat the same request" },
  BATCH_INVALID: { status: 400, hint: "the server does not understand this client's request: compare their versions" },
  VALUE_INVALID: { status: 400, hint: "a value must be a string of at most 64 KiB" },
  KEY_MISSING: { status: 401, hint: "a proxy between here and the server removes the Authorization header; with `key: null` it must add one" },
  KEY_INVALID: { status: 401, hint: "compare the key with `inkling keys list` on the server" },
  KEY_EXPIRED: { status: 401, hint: "create a new key with `inkling keys create`; run `inkling keys rotate` before the next one expires" },
  SCOPE_REQUIRED: { status: 403, hint: "set all scopes that the key needs: `inkling keys update ID --scopes geolocate,reputation,email`, with `,assess` for decisions" },
  SOURCE_NOT_ALLOWED: { status: 403, hint: "the key is bound to networks: `inkling keys list` on the server shows them" },
  CALLER_UNKNOWN: { status: 403, hint: "the key is bound to networks, but the proxy in front of the server does not send X-Forwarded-For: configure the proxy to send it" },
  SIGNATURE_INVALID: { status: 401, hint: "only Supabase calls /v1/hooks/supabase" },
  VISITOR_DENIED: { status: 403, hint: "this visitor has a flag listed in the `deny` parameter of /v1/forward-auth" },
  PATH_NOT_FOUND: { status: 404, hint: "set `url` to the server's address, without an API path" },
  DECISION_NOT_FOUND: { status: 404, hint: "set INKLING_DECISIONS=1 on the server, and send outcomes before INKLING_DECISIONS_DAYS have passed" },
  IP_ADDRESS_NOT_FOUND: { status: 404, hint: "the data has no location for this address" },
  METHOD_NOT_ALLOWED: { status: 405, hint: "the server is older than this client, or a proxy refuses POST" },
  CONTENT_TOO_LARGE: { status: 413, hint: "send fewer values per request" },
  CONTENT_TYPE_INVALID: { status: 415, hint: "the server does not understand this client's request: compare their versions" },
  SANDBOX_VALUE_REQUIRED: { status: 422, hint: "this is a sandbox key (ink_test_…): configure a key that begins with ink_live_" },
  RATE_LIMITED: { status: 429, hint: "send requests more slowly, or raise the key's rate: `inkling keys update ID --rate NUMBER`" },
  TOO_MANY_STREAMS: { status: 429, hint: "send more values in each stream, or close some streams" },
  QUOTA_EXCEEDED: { status: 429, hint: "wait until midnight UTC, or raise the key's quota: `inkling keys update ID --quota NUMBER`" },
  INTERNAL: { status: 500, hint: "the server's log has the cause under the request id" },
  DATA_NOT_LOADED: { status: 503, hint: "run `inkling data update` on the server; run `inkling data status` to see what is missing" },
  DECISIONS_UNREACHABLE: { status: 503, hint: "run `inkling doctor` on the server: it cannot reach its database" },
  KEYS_NOT_LOADED: { status: 503, hint: "the server has not reached its database since it started: run `inkling doctor` there" },
} as const;

/** Failures that only the client can detect. */
export const CLIENT_ERRORS = {
  CONNECTION_FAILED: { hint: "check that the server is running and that `url` is its address (in a browser, the page's own origin); `cause` has the runtime's error" },
  TIMED_OUT: { hint: "raise `timeoutMs`, or check the server's load" },
  ANSWER_UNREADABLE: { hint: "the answer is not from Inkling: check `url`, and the proxy in front of the server" },
  DATA_INCOMPLETE: { hint: "`require` lists this data: run `inkling data update` on the server. Run `inkling data status` to see the missing feeds; `inkling feeds disable ID` turns one off" },
  ADDRESS_UNKNOWN: { hint: "this runtime does not provide the visitor's address, or a proxy sent a value that is not an address: set `address`" },
  CLOSED: { hint: "`close()` was called: create a new instance for further lookups" },
} as const;
