// sessions.ts: logins to the admin API: a cookie in place of the token, so that a page need not keep that.
//
// in   the admin token, once
// out  a cookie that ends after twelve hours, at a logout, with the token, or with this process
// err  none thrown
//
// The cookie is HttpOnly and SameSite=Strict. A write also needs a header that no form and no other site can send
// (CONSOLE_HEADER), and must not come from another site according to Sec-Fetch-Site.

import { parse } from "hono/utils/cookie";
import { hashToken, randomBase62 } from "../keys/token.ts";

export const SESSION_COOKIE = "inkling_admin";
export const CONSOLE_HEADER = "Inkling-Console";
export const SESSION_MS = 12 * 3_600_000;
/** At once; a login beyond that ends the oldest. */
const MAX_SESSIONS = 1_000;
const LENGTH = 43; // 256 bits

export interface Session {
  /** For the audit trail. */
  readonly author: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Of the token of the login: another token ends the session. */
  readonly tokenHash: string;
}

export class AdminSessions {
  /** By the hash of the cookie: a cookie cannot be read from memory. */
  private readonly sessions = new Map<string, Session>();
  private readonly randomBytes: (n: number) => Uint8Array;

  constructor(randomBytes: (n: number) => Uint8Array) {
    this.randomBytes = randomBytes;
  }

  open(
    author: string,
    tokenHash: string,
    now: number,
  ): { readonly cookie: string; readonly session: Session } {
    for (const [hash, { expiresAt }] of this.sessions) {
      if (expiresAt > now && this.sessions.size < MAX_SESSIONS) break; // the rest is younger
      this.sessions.delete(hash);
    }
    const cookie = randomBase62(LENGTH, this.randomBytes);
    const session: Session = { author, tokenHash, expiresAt: now + SESSION_MS };
    this.sessions.set(hashToken(cookie), session);
    return { cookie, session };
  }

  /** @param tokenHash of the token in force */
  find(cookie: string, tokenHash: string | undefined, now: number): Session | undefined {
    const session = this.sessions.get(hashToken(cookie));
    return session !== undefined && session.expiresAt > now && session.tokenHash === tokenHash
      ? session
      : undefined;
  }

  close(cookie: string): void {
    this.sessions.delete(hashToken(cookie));
  }
}

/** The session's cookie of a request. */
export function sessionCookie(request: Request): string | undefined {
  const { [SESSION_COOKIE]: cookie } = parse(request.headers.get("cookie") ?? "", SESSION_COOKIE);
  return cookie === "" ? undefined : cookie;
}

/** `Set-Cookie` that opens a session, or with 0 seconds ends it. `Secure` where the Origin is HTTPS. */
export function setCookie(request: Request, value: string, seconds: number): string {
  const isSecure = request.headers.get("origin")?.startsWith("https://") ?? false;
  const attributes = `Path=/admin/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return `${SESSION_COOKIE}=${value}; ${attributes}`;
}

/** Whether only a page of this server can have sent this. */
export function isFromConsole(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  return request.headers.has(CONSOLE_HEADER) && (site === null || site === "same-origin");
}
