// webhooks.ts: sends a server's events to webhooks. This part runs in the primary, and no request waits for it.

import type { EmailVerdict } from "@inkling/contract";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import { WebhookEvents } from "../webhooks/events.ts";
import { WebhookSender } from "../webhooks/sender.ts";
import type { Closers, ServerOptions, Services } from "./options.ts";

/**
 * Starts detecting events and sending deliveries. If several hosts share the database, each delivery is sent by only
 * one of them.
 */
export function startWebhooks(
  options: Pick<ServerOptions, "version" | "checkMs">,
  services: Pick<Services, "log" | "store" | "releases" | "overrides">,
  closers: Closers,
): MetricsSource["webhooks"] {
  const { log, store, releases, overrides } = services;
  const events = new WebhookEvents({
    deliveries: store.deliveries,
    usage: store.usage,
    releases,
    overrides,
    decisions: store.decisions,
    lookUp: domainVerdicts(services),
    log,
    now: Date.now,
    ...(options.checkMs !== undefined && { checkMs: options.checkMs }),
  });
  const sender = new WebhookSender({
    store,
    log,
    version: options.version,
    now: Date.now,
    findEvents: (subscribed) => events.find(subscribed),
    ...(options.checkMs !== undefined && { pollMs: options.checkMs }),
  });
  sender.start();
  closers.push(async () => {
    await sender.stop();
    await events.stop();
  });
  return {
    attempts: sender.attempts,
    get dropped() {
      return events.dropped;
    },
    get queue() {
      return sender.queue;
    },
  };
}

/** Returns a function that looks up verdicts on domains. */
export function domainVerdicts({
  releases,
  overrides,
}: Pick<Services, "releases" | "overrides">): (
  domains: readonly string[],
) => Promise<(EmailVerdict | undefined)[]> {
  return async (domains) => {
    const release = releases.open();
    if (release === undefined) throw new Error("no data release is loaded");
    const source = { release, overrides: overrides.current, now: Date.now() };
    const caller = { owner: "webhooks", signal: new AbortController().signal };
    const { lookUpValues } = await import("../lookup/operator-lookup.ts"); // loads the language of rules as well
    const found = await lookUpValues(source, domains, 1, caller);
    return (found as { kind: string; email?: EmailVerdict }[]).map(({ kind, email }) =>
      kind === "domain" && email !== undefined && "disposable" in email ? email : undefined,
    );
  };
}
