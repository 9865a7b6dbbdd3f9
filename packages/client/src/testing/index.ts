// @inkling/client/testing: a client without a server, for an application's unit tests.

import { Inkling } from "../client.ts";
import type { InklingOptions } from "../options.ts";
import type { OnUnavailable } from "../unavailable.ts";
import { FakeServer } from "./fake-server.ts";

export type { FakeRequest, FakeServer, OwnAnswer } from "./fake-server.ts";

/** The options that decide how an application sees an answer. */
export type FakeOptions<P extends OnUnavailable> = Pick<
  InklingOptions<P>,
  "onUnavailable" | "onThrottled" | "require"
>;

/** A real client whose server runs in this process. */
export class FakeInkling<P extends OnUnavailable = "throw"> extends Inkling<P> {
  /** The fake server: `answer()`, `fail()`, `recover()`, `lack()`, `reset()`, `requests`. */
  readonly server: FakeServer;

  constructor(options: FakeOptions<P>, server: FakeServer = new FakeServer()) {
    super(
      {
        ...options,
        url: "http://inkling.test",
        key: "ink_test_fake_0",
        cacheEntries: 0, // an answer that a test sets applies immediately
        fetch: (url, init) => server.fetch(url, init),
      },
      {
        now: () => 0,
        random: () => 0,
        sleep: async (_ms, signal) => signal?.throwIfAborted(), // tests do not wait for pauses
        // Every lookup reaches the fake server, so recover() applies immediately, including to parallel lookups.
        breakAfter: Number.POSITIVE_INFINITY,
      },
    );
    this.server = server;
  }
}

/**
 * Creates a client without a server, network or delay. A test sets the answers on `server`, and can make the server
 * fail. A value without an answer causes an error (ANSWER_NOT_SET). For fixed answers, use a sandbox key and a server.
 */
export function fakeInkling<P extends OnUnavailable = "throw">(options: FakeOptions<P> = {}): FakeInkling<P> {
  return new FakeInkling(options);
}
