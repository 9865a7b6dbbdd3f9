// host-names.ts: decides which host names a listener accepts, so that web pages of other origins cannot reach it.
//
// In a DNS rebinding attack, the owner of evil.example points that name at 127.0.0.1. A page of evil.example then has
// the same origin as the listener. This attack is impossible with an IP address, a name without a dot, or a name below
// a domain that nobody can register.

import { isIP } from "node:net";

/**
 * A valid Host header (RFC 9112 3.2; RFC 3986 3.2.2 without the comma, which no name contains). The runtime joins
 * several headers with ", ", and refuses HTTP/1.1 requests without one. An empty header is allowed.
 */
const READABLE = /^(?:[A-Za-z0-9._~!$&'()*+;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/**
 * Returns whether a Host header is valid. If a request has two hosts, a proxy in front of the server may use one of
 * them, and the server the other.
 * @param host null if there is none, as HTTP/1.0 allows
 */
export function isReadableHost(host: string | null): boolean {
  return host === null || READABLE.test(host);
}

/** Domains from RFC 6761, RFC 8375, ICANN's resolution on .internal, and Kubernetes. */
const UNREGISTRABLE = /\.(localhost|internal|home\.arpa|svc|svc\.cluster\.local)$/;
const HOST = /^(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::\d{1,5})?$/;

export class HostNames {
  /** Host names as configured: "inkling.example" or "inkling.example:8443". */
  private readonly hosts: ReadonlySet<string>;
  private readonly names: ReadonlySet<string>;

  /** @param hosts additional names; a port in a name matters only for `isOwnOrigin` */
  constructor(hosts: readonly string[]) {
    this.hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.names = new Set([...this.hosts].map((host) => host.replace(/:\d+$/, "")));
  }

  /**
   * True if the listener accepts this host.
   * @param host the Host header; null from HTTP/1.0 programs, which are not browsers
   */
  isOwnHost(host: string | null): boolean {
    if (host === null) return true;
    const [, v6, text = ""] = HOST.exec(host.toLowerCase()) ?? [];
    if (v6 !== undefined) return isIP(v6) === 6;
    const name = text.replace(/\.$/, "");
    if (name === "") return false;
    return !name.includes(".") || isIP(name) === 4 || UNREGISTRABLE.test(name) || this.names.has(name);
  }

  /** True if the request came from a page of the host that received it. Browsers send an Origin with every write. */
  isOwnOrigin(origin: string | null, host: string | null): boolean {
    if (origin === null) return true;
    const from = URL.canParse(origin) ? new URL(origin).host : "";
    return from !== "" && (from === host?.toLowerCase().replace(/:80$|:443$/, "") || this.hosts.has(from));
  }
}
