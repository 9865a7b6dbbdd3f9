// Tests, with samples of the feeds, what the network segment contains about ranges that operators publish, by label.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { GuardKind } from "../catalog/claims.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { parseNetworks } from "../parse/index.ts";
import { publishedRanges, SERVICE_RULES } from "./services.ts";

const FIXTURES = join(import.meta.dir, "../../fixtures/feeds");

/** Returns the services that the ranges in the feed's sample have. */
function servicesOf(id: string, file: string): (string | undefined)[] {
  const feed = FEEDS.find((row) => row.id === id)!;
  const { networks } = parseNetworks(feed.format, readFileSync(join(FIXTURES, file)), feed.paths);
  const label = feed.label as GuardKind;
  const { lists } = publishedRanges([{ feed: id, subject: "guard", label, networks }]);
  return [...new Set(lists.flat().map((published) => SERVICE_RULES[published.label]?.service))];
}

describe("published machines", () => {
  test.each([
    ["github-hooks", "github-hooks.json", "webhook_sender"],
    ["stripe-webhooks", "stripe-webhooks.txt", "webhook_sender"],
    ["betterstack-monitors", "betterstack-monitors.txt", "monitor"],
    ["pingdom-monitors-v4", "pingdom-monitors-v4.txt", "monitor"],
    ["pingdom-monitors-v6", "pingdom-monitors-v6.txt", "monitor"],
    ["uptimerobot-monitors", "uptimerobot-monitors.txt", "monitor"],
    ["googlebot", "googlebot.json", "crawler"],
    ["zscaler", "zscaler.json", "gateway"],
  ])("%s", (id, file, service) => expect(servicesOf(id, file)).toEqual([service]));
});
