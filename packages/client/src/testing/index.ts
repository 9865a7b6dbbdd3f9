// @inkling/client/testing: a client without a server, for the unit tests of an application.

import { Inkling } from "../client.ts";
import type { InklingOptions } from "../options.ts";
import type { OnUnavailable } from "../unavailable.ts";
import { SandboxServer } from "./sandbox-server.ts";

export type { OwnAnswer, SandboxServer } from "./sandbox-server.ts";

/** The options that decide how an application sees an answer. */
export type FakeOptions<P extends OnUnavailable> = Pick<
  InklingOptions<P>,
  "onUnavailable" | "onThrottled" | "require"
>;

/** A client as any other, whose server is in this process. */
export class FakeInkling<P extends OnUnavailable = "throw"> extends Inkling<P> {
  /** Its server: `answer()`, `fail()`, `recover()`, `lack()`. */
  readonly server: SandboxServer;

  constructor(options: FakeOptions<P>, server: SandboxServer = new SandboxServer()) {
    super(
      {
        ...options,
        url: "http://inkling.test",
        key: "ink_test_fake_0",
        cacheEntries: 0, // an answer that a test sets applies at once
        fetch: (url, init) => server.fetch(url, init),
      },
      {
        now: () => 0,
        random: () => 0,
        sleep: async (_ms, signal) => signal?.throwIfAborted(), // no test waits for a pause
        // Each lookup reaches the fake server, so that recover() applies at once, to parallel lookups too.
        breakAfter: Number.POSITIVE_INFINITY,
      },
    );
    this.server = server;
  }
}

/**
 * A client that answers as the sandbox does, without a server, network or time: `192.0.2.6` is a Tor exit,
 * `jane@disposable.example` is disposable, a real value is an error (SANDBOX_VALUE_REQUIRED). Its `server` takes answers
 * of a test's own, and fails on demand.
 */
export function fakeInkling<P extends OnUnavailable = "throw">(options: FakeOptions<P> = {}): FakeInkling<P> {
  return new FakeInkling(options);
}
