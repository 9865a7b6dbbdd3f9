// listener.ts: listens on a port, and lets requests in progress finish.
//
// Bun normalizes paths: it resolves "..", and turns "\" into "/". A proxy in front compares paths as sent, so a
// different spelling could bypass a rule of the proxy. The listener marks every request whose path it cannot read as
// sent, and the handler refuses it before routing.
//
// It collects garbage after a fixed number of requests, so that each collection is short. On a busy server, the runtime
// collects after 15,000 to 20,000 requests, in one pause of 4 to 8 ms on the thread that answers. At 40,000 requests/s,
// the 99.9th percentile of the response time was 4.5 to 9.0 ms (four runs). With one collection for 4,096 requests, it
// was 2.5 to 3.3 ms (three runs). This has no cost: at full load, a request takes 6% less CPU time (nine rounds, in
// which both versions took turns). At low load, nothing changes.

import { edenGC } from "bun:jsc";
import http from "node:http";
import { within } from "@inkling/data";
import { hasEncodedSeparator, isAsSent, pathEnd, pathPatterns, patternOf, targetOf } from "./router.ts";
import { type Listener, listenError } from "./start-error.ts";

const MAX_HEADER_BYTES = 8 * 1024;
const SEND_SECONDS = 10;
const DRAIN_MS = 10_000;

interface ListenOptions {
  readonly what: Listener;
  readonly hostname: string;
  readonly port: number;
  /** @param isUnclear whether a proxy in front may have read another path (http/router.ts) */
  readonly fetch: (
    request: Request,
    server: Bun.Server<undefined>,
    isUnclear: boolean,
  ) => ReturnType<Handler>;
  /**
   * Templates of known paths, as in "/v1/assess" or "/v1/x/{y}". They change no answer: the runtime's router creates
   * one text per segment of a general pattern, but none for a literal segment.
   */
  readonly paths?: readonly string[];
  /** Returns whether the path may contain an encoded "/" or "\". By default, no path may. */
  readonly mayEncodeSeparators?: (path: string) => boolean;
  /** Maximum size of a body in bytes; no limit by default. */
  readonly maxBodyBytes?: number;
  /** True if other workers listen on the same port. */
  readonly isShared?: boolean;
}

/** @throws StartError */
export function listen(options: ListenOptions): Bun.Server<undefined> {
  const {
    what,
    hostname,
    port,
    fetch,
    paths = [],
    mayEncodeSeparators = () => false,
    maxBodyBytes = Number.MAX_SAFE_INTEGER,
    isShared = false,
  } = options;
  // Bun's parser reads this once per listener. Its types declare it as read-only.
  (http as { maxHeaderSize: number }).maxHeaderSize = MAX_HEADER_BYTES;
  const isClear = (segments: Readonly<Record<string, string>>, url: string) => {
    if (!url.includes("%")) return isAsSent(segments, "");
    const target = targetOf(url);
    const path = target.slice(0, pathEnd(target));
    return isAsSent(segments, path) && (!hasEncodedSeparator(path) || mayEncodeSeparators(path));
  };
  const handle = collecting((request, server) =>
    fetch(request, server, !isClear((request as Bun.BunRequest).params, request.url)),
  );
  try {
    return Bun.serve({
      hostname,
      port,
      routes: Object.fromEntries(
        [...pathPatterns, ...paths.map(patternOf)].map((pattern) => [pattern, handle]),
      ),
      fetch: collecting((request, server) => fetch(request, server, true)), // an empty segment, or too many
      development: false,
      reusePort: isShared, // with `development: false`, Bun's default would share the port with any program
      idleTimeout: SEND_SECONDS,
      maxRequestBodySize: maxBodyBytes,
      error: () => new Response(null, { status: 500 }),
    });
  } catch (error) {
    throw listenError(what, hostname, port, error);
  }
}

/** Stops a listener. Resolves when every request in progress was answered, or after `most` milliseconds. */
export async function drained(server: Bun.Server<undefined>, most = DRAIN_MS): Promise<void> {
  await within(most, server.stop(), () => server.stop(true));
}

export type Handler = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>;

/** With twice as many, a lookup takes the same CPU time, but a busy server allocates 55 MB instead of 52 MB. */
export const REQUESTS_PER_COLLECTION = 2_048;
/**
 * A POST request counts as this many requests, because a decision leaves much more garbage than a lookup. With one collection
 * for 4,096 decisions, a busy server has 100 MB instead of 60 MB.
 */
export const POST_REQUESTS = 4;

/** Returns a handler that also collects garbage regularly. @param collect collects the young generation */
export function collecting(handler: Handler, collect: () => unknown = edenGC): Handler {
  let requests = 0;
  return (request, server) => {
    requests += request.method === "POST" ? POST_REQUESTS : 1;
    if (requests >= REQUESTS_PER_COLLECTION) {
      requests = 0;
      setImmediate(() => collect()); // requests that arrived together are answered first
    }
    return handler(request, server);
  };
}
