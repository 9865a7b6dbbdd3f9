// Tests evidence: the worst case of lists, and the examples in docs/evidence.md. evidence.data.test.ts tests the
// evidence on the mirror.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  EFFECTS,
  IpAddress,
  IpSegment,
  type LoadedRelease,
  MAX_EVIDENCE_BYTES,
  MAX_EVIDENCE_ENTRIES,
  parseIp,
} from "@inkling/engine";
import { HOW } from "../../../packages/compiler/src/geo/evidence.ts";
import { GUARD_KINDS, LABELS } from "../../../packages/compiler/src/policy/labels.ts";
import { judgeNetworks } from "../../../packages/compiler/src/policy/reputation.ts";
import { reputationSections } from "../../../packages/compiler/src/segments/reputation-table.ts";
import { writeSegment } from "../../../packages/compiler/src/segments/segment-writer.ts";
import { docsTable, flagsOf, reputation } from "../../harness/evidence-answers.ts";

describe("the worst case of lists", () => {
  const networks = Array.from({ length: 60 }, (_, i) => i);
  const network = (bits: number) => {
    const address = new IpAddress();
    address.words[0] =
      bits === 0 ? 0 : (parseIp("185.220.101.1")!.words[0]! & (0xffffffff << (32 - bits))) >>> 0;
    return { address, bits };
  };
  const claims = networks.map((i) => ({
    feed: `a-feed-with-a-rather-long-name-${i}`,
    subject: i === 59 ? ("is_proxy" as const) : ("is_abuser" as const),
    label: i === 59 ? ("vpn" as const) : ("criminal_network" as const),
    networks: [network(3 + (i % 30))],
  }));
  const sections = reputationSections(judgeNetworks(claims));
  const segment = IpSegment.open(Uint8Array.from(writeSegment("reputation", sections, {})), "reputation");
  const long = { fetched_at: "2026-11-20T00:00:00.000Z", published_at: "2026-11-20T00:00:00.000Z" };
  const tails = segment.evidenceFeeds.map(() =>
    new TextEncoder().encode(`,${JSON.stringify(long).slice(1)}`),
  );
  const release = { reputation: segment, evidence: { reputation: tails } } as unknown as LoadedRelease;

  test("an address in 60 networks: at most 32 entries and 8 KB, with each flag's evidence, marked as truncated", () => {
    segment.verify();
    const answer = reputation(release, parseIp("185.220.101.1")!);
    expect(answer).toMatchObject({ is_abuser: true, is_proxy: true, evidence_truncated: true });
    expect(answer.evidence.length).toBeLessThanOrEqual(MAX_EVIDENCE_ENTRIES);
    expect(answer.evidence.length).toBeGreaterThan(20);
    expect(JSON.stringify(answer.evidence).length).toBeLessThanOrEqual(MAX_EVIDENCE_BYTES);
    expect(flagsOf(answer.evidence)).toEqual(["is_abuser", "is_proxy"]);
  });
});

describe("docs/evidence.md", () => {
  test("has every effect, in order", () => {
    expect(docsTable("effect")).toEqual([...EFFECTS]);
  });

  test("has every label of networks, guards, places and domains", () => {
    const labels = [
      ...Object.keys(LABELS),
      ...Object.keys(GUARD_KINDS),
      ...Object.values(HOW).map(({ label }) => label),
      ...[
        "special_use",
        "location",
        "anycast",
        "disposable",
        "free_mail",
        "name",
        "public_suffix",
        "override",
      ],
    ];
    const docs = docsTable("label");
    expect(labels.filter((label) => !docs.includes(label))).toEqual([]);
  });

  test("has the reason for each filled-in field, as answers do", () => {
    const docs = readFileSync(resolve(import.meta.dir, "../../../docs/evidence.md"), "utf8");
    for (const { why } of Object.values(HOW)) expect(docs).toContain(`| ${why} |\n`);
  });
});
