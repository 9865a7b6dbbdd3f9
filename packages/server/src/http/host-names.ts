// host-names.ts: which names a listener answers to, so that no web page reaches it through its own name.
//
// in   the Host and Origin headers of a request
// out  whether they belong to a page of this listener
// why  DNS rebinding: a page of evil.example points that name at 127.0.0.1, and is then of the same origin as the listener.
//      It cannot do so with an address, a name without a dot, or below a domain that nobody can register.

import { isIP } from "node:net";

/** RFC 6761, RFC 8375, ICANN's resolution on .internal, Kubernetes. */
const UNREGISTRABLE = /\.(localhost|internal|home\.arpa|svc|svc\.cluster\.local)$/;
const HOST = /^(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::\d{1,5})?$/;

export class HostNames {
  /** As given, "inkling.example" or "inkling.example:8443". */
  private readonly hosts: ReadonlySet<string>;
  private readonly names: ReadonlySet<string>;

  /** @param hosts further names; a port counts for origins */
  constructor(hosts: readonly string[]) {
    this.hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.names = new Set([...this.hosts].map((host) => host.replace(/:\d+$/, "")));
  }

  /** @param host the Host header; null of HTTP/1.0 programs, which are no browsers */
  isOwnHost(host: string | null): boolean {
    if (host === null) return true;
    const [, v6, text = ""] = HOST.exec(host.toLowerCase()) ?? [];
    if (v6 !== undefined) return isIP(v6) === 6;
    const name = text.replace(/\.$/, "");
    if (name === "") return false;
    return !name.includes(".") || isIP(name) === 4 || UNREGISTRABLE.test(name) || this.names.has(name);
  }

  /** Was a request with this Origin sent by a page of the host that it was sent to? Browsers send one with every write. */
  isOwnOrigin(origin: string | null, host: string | null): boolean {
    if (origin === null) return true;
    const from = URL.canParse(origin) ? new URL(origin).host : "";
    return from !== "" && (from === host?.toLowerCase().replace(/:80$|:443$/, "") || this.hosts.has(from));
  }
}
