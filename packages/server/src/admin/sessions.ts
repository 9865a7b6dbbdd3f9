// sessions.ts: logins to the admin API: a page keeps a cookie and a secret instead of the token.
//
// in   an admin token, once
// out  both; they end after twelve hours, at a logout, with the token, or with this process
// err  none thrown
//
// A browser sends the cookie, HttpOnly and SameSite=Strict, to every port of the host, and every port can set cookies of
// the same name. So it opens nothing alone: each request also carries the secret, which the page keeps in storage that is
// bound to the port, in a header that no other origin can send. All cookies of the name are tried.

import { timingSafeEqual } from "node:crypto";
import { hashToken, randomBase62 } from "../keys/token.ts";

export const SESSION_COOKIE = "inkling_admin";
/** Of pages over HTTPS: a browser takes it from no other host, from no page over HTTP, and for no other path. */
const SECURE_COOKIE = `__Host-${SESSION_COOKIE}`;
export const CONSOLE_HEADER = "Inkling-Console";
export const SESSION_MS = 12 * 3_600_000;
/** What a session may have more than that left: the clock was set back by so little. */
const CLOCK_SLACK_MS = 60_000;
/** At once; a login beyond that ends the oldest. */
const MAX_SESSIONS = 1_000;
const LENGTH = 43; // 256 bits
const COOKIES = new RegExp(`(?:^|;) *(?:__Host-)?${SESSION_COOKIE}=([0-9A-Za-z]{${LENGTH}}) *(?=;|$)`, "g");

export interface Session {
  /** For the audit trail. */
  readonly author: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Of the token of the login: its end is the end of the session. */
  readonly tokenHash: string;
  readonly secretHash: string;
}

export class AdminSessions {
  /** By the hash of the cookie: neither it nor the secret can be read from memory. */
  private readonly sessions = new Map<string, Session>();
  private readonly randomBytes: (n: number) => Uint8Array;

  constructor(randomBytes: (n: number) => Uint8Array) {
    this.randomBytes = randomBytes;
  }

  open(author: string, tokenHash: string, now: number) {
    for (const [hash, { expiresAt }] of this.sessions) {
      if (expiresAt > now && this.sessions.size < MAX_SESSIONS) break; // the rest is younger
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

  /** The caller checks that the session's token is still valid. */
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

/** What the cookies of the session's name hold: several where another port of this host has set some. */
export function sessionCookies(request: Request): string[] {
  return [...(request.headers.get("cookie") ?? "").matchAll(COOKIES)].map(([, cookie]) => cookie!);
}

/**
 * `Set-Cookie` that opens a session, or with 0 seconds ends it. The page's Origin says whether it came over HTTPS, so that
 * no proxy has to: a browser sends it with each login and logout, and lets no page choose it.
 */
export function setCookie(request: Request, value: string, seconds: number): string {
  const isSecure = request.headers.get("origin")?.startsWith("https://") ?? false;
  const [name, path, secure] = isSecure ? [SECURE_COOKIE, "/", "; Secure"] : [SESSION_COOKIE, "/admin/", ""];
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
