// request-facts.ts: reads what a request contains about its sender, from node:http, fetch or only headers.

import { wrong } from "../options.ts";

/** What a framework provides about a request. */
export interface RequestFacts {
  /** The connection's address, or undefined if the runtime does not provide it. */
  readonly peer: string | undefined;
  readonly forwardedFor: string | readonly string[] | null | undefined;
  readonly userAgent?: string | null | undefined;
}

/** The parts of node:http's request that are read. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

export const nodeFacts = ({ headers, socket }: NodeRequest): RequestFacts => ({
  peer: socket.remoteAddress,
  forwardedFor: headers["x-forwarded-for"],
  userAgent: headers["user-agent"] as string | undefined,
});

/** A Request, a NextRequest, or `{ headers: await headers() }`. */
export interface WithHeaders {
  readonly headers: { get(name: string): string | null };
}

/**
 * What servers pass to a fetch-style application: `{ incoming }` on Node, the server on Bun, `{ remoteAddr }` on Deno.
 */
interface Connection {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly requestIP?: (request: unknown) => { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/** @param env what the server passed beside the request, if anything */
export function fetchFacts(request: WithHeaders, env?: unknown): RequestFacts {
  const { headers } = request;
  return {
    peer: peerOf(request, env),
    forwardedFor: headers.get("x-forwarded-for"),
    userAgent: headers.get("user-agent"),
  };
}

function peerOf(request: WithHeaders, env: unknown): string | undefined {
  if (typeof env !== "object" || env === null) return undefined;
  const { incoming, remoteAddr } = env as Connection;
  const server = ("server" in env ? env.server : env) as Connection | undefined;
  const address = incoming?.socket?.remoteAddress ?? server?.requestIP?.(request)?.address;
  return address ?? remoteAddr?.hostname;
}

/**
 * How the address is found without the connection: from one of the platform's headers, or from the proxies in front of
 * the application. The proxies must be given as a number, because there is no address to compare with networks.
 */
export type HasAddress<R> =
  | { readonly trustProxy: number }
  | { readonly address: (request: R) => string | undefined };

/** @throws TypeError if neither is set */
export function requireProxies(options: object): void {
  const { address, trustProxy } = options as { readonly address?: unknown; readonly trustProxy?: unknown };
  if (address === undefined && !(typeof trustProxy === "number" && trustProxy > 0))
    throw wrong(
      "trustProxy",
      "must be the number of proxies in front of the application, at least 1; or set `address`",
    );
}
