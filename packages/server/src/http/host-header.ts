// host-header.ts: is the Host header of a request one that can be read?
//
// in   the header as the runtime gives it: two of them joined by ", "; null under HTTP/1.0, which needs none
// src  RFC 9112 3.2: more than one, or an invalid one, is 400. RFC 3986 3.2.2 (host) without the comma, which no name has
// why  a cache or proxy in front may go by the other one of two hosts
// note without a Host header HTTP/1.1 is refused by the runtime; an empty one is allowed

const HOST = /^(?:[A-Za-z0-9._~!$&'()*+;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

export function isReadableHost(host: string | null): boolean {
  return host === null || HOST.test(host);
}
