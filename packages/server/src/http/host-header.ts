// host-header.ts: checks whether a request's Host header is valid.
//
// in   the header from the runtime: several headers joined by ", "; null if it is missing, as HTTP/1.0 allows
// src  RFC 9112 3.2: several Host headers, or an invalid one, require a 400. RFC 3986 3.2.2 (host), without the comma,
//      which no name contains.
// why  If there are two hosts, a cache or proxy in front of the server may use a different host than the server.
// note The runtime itself refuses HTTP/1.1 requests without a Host header. An empty header is allowed.

const HOST = /^(?:[A-Za-z0-9._~!$&'()*+;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

export function isReadableHost(host: string | null): boolean {
  return host === null || HOST.test(host);
}
