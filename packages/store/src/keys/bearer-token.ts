// bearer-token.ts: reads an API key or an admin token from an Authorization header.
//
// Source: RFC 6750 2.1, RFC 7617 2 (Basic), RFC 9110 11.1 (the scheme's name is case-insensitive).

const SCHEME = "bearer";

/** Returns the token, regardless of its form; undefined if the header is missing, has another scheme or no token. */
export function bearerToken(header: string | null): string | undefined {
  if (header === null || header.charCodeAt(SCHEME.length) !== 0x20) return undefined;
  if (header.startsWith("Bearer ")) return trimmed(header);
  return header.slice(0, SCHEME.length).toLowerCase() === SCHEME ? trimmed(header) : undefined;
}

function trimmed(header: string): string | undefined {
  const token = header.slice(SCHEME.length + 1).trimStart(); // the runtime has already trimmed the end of the header
  return token === "" ? undefined : token;
}

/** True if the header consists of exactly the scheme, one space and the token. */
export function isShortest(header: string, token: string): boolean {
  return header.length === SCHEME.length + 1 + token.length;
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * Rewrites a Basic authentication header as a Bearer header. The password is the key, and the user name is ignored.
 * Any other header is returned unchanged.
 */
export function basicAsBearer(header: string | null): string | null {
  const encoded = header === null ? undefined : BASIC.exec(header)?.[1];
  if (encoded === undefined) return header;
  const pair = Buffer.from(encoded, "base64").toString("latin1");
  const colon = pair.indexOf(":");
  return colon < 0 ? header : `Bearer ${pair.slice(colon + 1)}`;
}
