// token.ts: creates and checks the tokens of API keys: `ink_live_` or `ink_test_`, 32 random characters, `_`, and a
// checksum. Tokens of other kinds differ only in the prefix. It also reads tokens from an Authorization header.
//
// isWellFormedToken returns false if the text is not the token of a key. Cost: checking the form of a token takes 160
// ns; hashing a token takes 270 ns.
//
// Source of the Authorization header's forms: RFC 6750 2.1, RFC 7617 2 (Basic), RFC 9110 11.1 (the scheme's name is
// case-insensitive).

import { sha256Hex } from "@inkling/data";
import { crc32, randomBase62, toBase62 } from "@inkling/engine";

/** Requests with a `live` key get answers from data. Requests with a `test` key get fixed sandbox answers. */
export const KEY_MODES = ["live", "test"] as const;
export type KeyMode = (typeof KEY_MODES)[number];

const RANDOM_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // 62^6 > 2^32
/** Length in characters of every key's token. */
const TOKEN_LENGTH = "ink_live_".length + RANDOM_LENGTH + 1 + CHECKSUM_LENGTH;

const encoder = new TextEncoder();

/**
 * Creates a new API key.
 * @param randomBytes returns `n` unpredictable bytes, as crypto.getRandomValues does
 */
export function newKeyToken(mode: KeyMode, randomBytes: (n: number) => Uint8Array): string {
  return newToken(`ink_${mode}_`, randomBytes);
}

/** Creates a token of any kind: its prefix, 32 random characters, `_`, and a checksum. */
export function newToken(prefix: string, randomBytes: (n: number) => Uint8Array): string {
  const body = `${prefix}${randomBase62(RANDOM_LENGTH, randomBytes)}`;
  return `${body}_${checksum(body)}`;
}

/**
 * Creates a function that tests whether text has the form of a token of one kind, including the checksum.
 * @param prefix pattern of the prefix
 */
export function tokenFormat(prefix: string): (text: string) => boolean {
  const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${RANDOM_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`);
  return (text) => {
    const end = text.length - CHECKSUM_LENGTH;
    return pattern.test(text) && text.slice(end) === checksum(text.slice(0, end - 1));
  };
}

const isKeyToken = tokenFormat(`ink_(?:${KEY_MODES.join("|")})_`);

/** True if `text` has the form of a key, including the checksum. The key need not exist. */
export function isWellFormedToken(text: string): boolean {
  return text.length === TOKEN_LENGTH && isKeyToken(text);
}

/** Returns the mode of a well-formed token. */
export function tokenMode(token: string): KeyMode {
  return token.startsWith("ink_test_") ? "test" : "live";
}

/** Returns the SHA-256 of a token in hex. The server stores tokens only in this form. */
export function hashToken(text: string): string {
  return sha256Hex(text);
}

/** Returns what lists show instead of a token: `ink_live_3fK9…`. It reveals 24 of the token's 190 random bits. */
export function tokenHint(token: string): string {
  const prefix = token.indexOf("_", "ink_".length) + 1;
  return `${token.slice(0, prefix + 4)}…`;
}

/** Returns the CRC-32 of `body` in base62. */
const checksum = (body: string) => toBase62(crc32(encoder.encode(body)), CHECKSUM_LENGTH);

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

/** What a token has the form of. A `broken key` has the prefix of a key, but is cut short or has another checksum. */
type HeaderToken =
  | {
      readonly form: "key";
      readonly hash: string;
      /** True if the header consists of exactly the scheme, one space and the token. */
      readonly isShortest: boolean;
    }
  | { readonly form: "broken key" | "admin token" | "other" };

/** Reads the token of an Authorization header. Returns undefined if {@link bearerToken} finds none. */
export function readToken(header: string): HeaderToken | undefined {
  const token = bearerToken(header);
  if (token === undefined) return undefined;
  if (isWellFormedToken(token))
    return {
      form: "key",
      hash: hashToken(token),
      isShortest: header.length === SCHEME.length + 1 + token.length,
    };
  if (token.startsWith("ink_admin_")) return { form: "admin token" };
  return { form: /^ink_(?:live|test)_/.test(token) ? "broken key" : "other" };
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
