// A muted feed, against a build without it: random lists through the real policy, tables and evidence.

import { expect, test } from "bun:test";
import {
  Answerer,
  type AnswerSource,
  bitsOfAnswer,
  type ComposedAnswer,
  dataStates,
  IpAddress,
  IpSegment,
  type LoadedRelease,
  type Override,
  type Prefix,
  REPUTATION_ANSWERS,
  type UnwrappedAddress,
} from "@inkling/engine";
import { overridesOf } from "@inkling/server";
import fc from "fast-check";
import type { NetworkClaims } from "../packages/compiler/src/catalog/claims.ts";
import { judgeNetworks } from "../packages/compiler/src/policy/reputation.ts";
import { reputationSections } from "../packages/compiler/src/segments/reputation-table.ts";
import { writeSegment } from "../packages/compiler/src/segments/segment-writer.ts";

/** Lists that set a flag alone, and guards that remove flags of any list: docs/overrides.md has the rest. */
const FEEDS: readonly Omit<NetworkClaims, "networks">[] = [
  { feed: "tor-bulk-exits", subject: "is_tor_exit", label: "tor_exit" },
  { feed: "tor-onionoo", subject: "is_tor_exit", label: "tor_exit" },
  { feed: "x4bnet-vpn-v4", subject: "is_proxy", label: "vpn" },
  { feed: "monosans-proxies", subject: "is_proxy", label: "public_proxy" },
  { feed: "spamhaus-drop-v4", subject: "is_abuser", label: "criminal_network" },
  { feed: "feodo-recommended", subject: "is_abuser", label: "botnet_c2" },
  { feed: "relay", subject: "relay", label: "relay" },
  { feed: "mail-senders", subject: "guard", label: "mail-sender" },
];
const START = 0x51020000; // 81.2.0.0

function prefix(offset: number, bits: number): Prefix {
  const address = new IpAddress();
  address.words[0] = (START + offset) & (bits === 32 ? -1 : ~(0xffffffff >>> bits));
  return { address, bits };
}
/** Few addresses and lengths, so that networks of many lists meet. */
const network = fc
  .tuple(fc.nat(15), fc.constantFrom(28, 29, 30, 31, 32))
  .map(([offset, bits]) => prefix(offset, bits));
const lists = fc.tuple(...FEEDS.map(() => fc.array(network, { maxLength: 3 })));

function releaseOf(claims: readonly NetworkClaims[]): LoadedRelease {
  const bytes = writeSegment("reputation", reputationSections(judgeNetworks(claims)), {});
  const reputation = IpSegment.open(new Uint8Array(bytes), "reputation");
  const states = dataStates({ missing: [] });
  return { reputation, states, evidence: { reputation: [] } } as unknown as LoadedRelease;
}
const bitsAt = (release: LoadedRelease, address: UnwrappedAddress) =>
  bitsOfAnswer(release.reputation!.lookup(address) ?? REPUTATION_ANSWERS[0]!);

function mute(feed: string): Override {
  return {
    id: "ovr_0123456789abcdef",
    kind: "network",
    value: "81.2.0.0/16",
    effect: { type: "mute", feed },
    note: "x",
    author: "x",
    createdAt: 0,
    expiresAt: undefined,
    removedAt: undefined,
  };
}

test("muting a list gives the flags of a build without it", () => {
  const answerer = new Answerer();
  let changed = 0;
  let kept = 0;
  fc.assert(
    fc.property(lists, fc.nat(5), (networks, which) => {
      const claims = FEEDS.map((feed, i) => ({ ...feed, networks: networks[i]! }));
      const muted = FEEDS[which]!.feed; // one of those that set flags
      const all = releaseOf(claims);
      const without = releaseOf(claims.filter(({ feed }) => feed !== muted));
      const source: AnswerSource = {
        release: all,
        overrides: overridesOf([mute(muted)]),
        now: 0,
        mode: "serve",
      };
      for (let offset = 0; offset < 16; offset++) {
        const address = prefix(offset, 32).address as UnwrappedAddress; // IPv4
        const plain = all.reputation!.lookup(address) ?? REPUTATION_ANSWERS[0]!;
        const answer = answerer.answerAddress("reputation", address, source) as ComposedAnswer;
        expect(bitsOfAnswer(answer.body)).toBe(bitsAt(without, address));
        if (answer.overridden!.isChanged) changed++;
        else if (bitsOfAnswer(plain) !== 0) kept++;
      }
    }),
    { numRuns: 60 },
  );
  expect(changed).toBeGreaterThan(30);
  expect(kept).toBeGreaterThan(100);
});
