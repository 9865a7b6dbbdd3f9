// sessions.ts: keeps the sessions of pages that have logged in to the admin API. A page stores a cookie and a secret
// instead of the token.
//
// A session expires after SESSION_MS. It becomes invalid earlier at logout, when its token becomes invalid, after
// MAX_SESSIONS newer logins, or when this process exits.
//
// A browser sends the cookie (HttpOnly, SameSite=Strict) to every port of the host, and every port can set cookies of
// the same name. The cookie therefore grants no access by itself. Each request must also carry the secret in a header
// that no other origin can send. The page keeps the secret in storage that no other port can read. If a request carries
// several cookies with this name, the server tries all of them.

import { timingSafeEqual } from "node:crypto";
import { randomBase62 } from "@inkling/engine";
import type { EpochMs } from "@inkling/store/keys/key";
import { hashToken } from "@inkling/store/keys/token";

export const SESSION_COOKIE = "inkling_admin";
export const CONSOLE_HEADER = "Inkling-Console";
export const SESSION_MS = 12 * 3_600_000;
/** Milliseconds by which a session may outlast SESSION_MS, because the clock may be corrected slightly. */
const CLOCK_SLACK_MS = 60_000;
/** Maximum number of open sessions. The next login closes the oldest session. */
const MAX_SESSIONS = 1_000;
const LENGTH = 43; // 256 bits
const COOKIES = new RegExp(
  `(?:^|;) *(?:__Host-)?(${SESSION_COOKIE}(?:_\\d+)?)=([0-9A-Za-z]{${LENGTH}}) *(?=;|$)`,
  "g",
);

/**
 * Returns the name of the cookie for the port in the browser's address. Browsers send cookies to every port of a host,
 * so consoles on two ports would otherwise log each other out.
 */
function cookieName({ headers }: Request): string {
  const [, port] = /:(\d{1,5})$/.exec(headers.get("host") ?? "") ?? [];
  return port === undefined ? SESSION_COOKIE : `${SESSION_COOKIE}_${port}`;
}

export interface Session {
  /** The author in the audit trail. */
  readonly author: string;
  readonly expiresAt: EpochMs;
  /** Hash of the token that was used to log in. When the token becomes invalid, the session ends. */
  readonly tokenHash: string;
  readonly secretHash: string;
}

export class AdminSessions {
  /** Sessions by the hash of the cookie, so that memory holds neither the cookie nor the secret. */
  private readonly sessions = new Map<string, Session>();
  private readonly randomBytes: (n: number) => Uint8Array;

  constructor(randomBytes: (n: number) => Uint8Array) {
    this.randomBytes = randomBytes;
  }

  open(author: string, tokenHash: string, now: number) {
    for (const [hash, { expiresAt }] of this.sessions) {
      if (expiresAt > now && this.sessions.size < MAX_SESSIONS) break; // later sessions are newer
      this.sessions.delete(hash);
    }
    const cookie = randomBase62(LENGTH, this.randomBytes);
    const secret = randomBase62(LENGTH, this.randomBytes);
    const session: Session = {
      author,
      tokenHash,
      expiresAt: now + SESSION_MS,
      secretHash: hashToken(secret),
    };
    this.sessions.set(hashToken(cookie), session);
    return { cookie, secret, session };
  }

  /** Finds a valid session. The caller must check that the session's token is still valid. */
  find(cookies: readonly string[], secret: string, now: number): Session | undefined {
    const hash = Buffer.from(hashToken(secret));
    return cookies
      .map((cookie) => this.sessions.get(hashToken(cookie)))
      .find(
        (session) =>
          session !== undefined &&
          timingSafeEqual(hash, Buffer.from(session.secretHash)) &&
          session.expiresAt > now &&
          session.expiresAt - now <= SESSION_MS + CLOCK_SLACK_MS,
      );
  }

  close(ended: Session): void {
    for (const [hash, session] of this.sessions) if (session === ended) this.sessions.delete(hash);
  }
}

/**
 * Returns the values of all cookies with the session's name. There can be several, because other ports of this host may
 * set the same cookie.
 */
export function sessionCookies(request: Request): string[] {
  const own = cookieName(request);
  return [...(request.headers.get("cookie") ?? "").matchAll(COOKIES)].flatMap(([, name, cookie]) =>
    name === own ? cookie! : [],
  );
}

/**
 * Returns the `Set-Cookie` header that opens a session, or closes it if `seconds` is 0.
 * The request's Origin shows whether the page came over HTTPS, so no proxy has to report it. A browser sends Origin
 * with each login and logout, and a page cannot forge it.
 */
export function setCookie(request: Request, value: string, seconds: number): string {
  const isSecure = request.headers.get("origin")?.startsWith("https://") ?? false;
  const own = cookieName(request);
  // A browser accepts a name with this prefix only over HTTPS, only from this host, and only for the path "/".
  const [name, path, secure] = isSecure ? [`__Host-${own}`, "/", "; Secure"] : [own, "/admin/", ""];
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
