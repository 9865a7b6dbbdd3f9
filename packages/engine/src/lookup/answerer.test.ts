// The answer pipeline: failures; forced flags and muted feeds, judged again by the evidence; checks of an email address.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseUnwrapped } from "../address/ip.ts";
import { Overrides } from "../overrides/match.ts";
import type { Override, OverrideEffect, OverrideKind } from "../overrides/model.ts";
import { bitsOf, REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import type { EmailSegment } from "../segment/email-segment.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  type ComposedAnswer,
  findFailure,
  INCLUDE,
  type Mode,
  type Outcome,
  plainSegment,
} from "./answerer.ts";
import { dataStates, LOOKUPS } from "./data-state.ts";
import type { LoadedRelease } from "./loaded-release.ts";

type Entry = Record<string, unknown> & { feed: string; span?: number };

/** A record as segments have it (docs/segment-format.md), of as many entries as it takes. */
function record(entries: readonly Entry[], truncated = 0): Uint8Array | undefined {
  if (entries.length === 0) return undefined;
  const bytes = entries.flatMap(({ span = 24, ...entry }) => {
    const text = new TextEncoder().encode(JSON.stringify(entry).slice(0, -1));
    return [0, 0, text.length & 255, text.length >> 8, span, ...text];
  });
  return Uint8Array.from([entries.length, 0, truncated, 0, ...bytes]);
}

/** A release with the answer that policy makes of these entries. */
function ofAddress(entries: readonly Entry[], truncated = 0): LoadedRelease {
  const flags = (effect: string) =>
    bitsOf(entries.filter((entry) => entry.effect === effect).flatMap((entry) => entry.flags as never[]));
  const answer = REPUTATION_ANSWERS[flags("sets") & ~flags("removes")]!;
  const reputation = {
    lookup: () => answer,
    evidence: () => record(entries, truncated),
    networkBits: () => 24,
  };
  return loaded({ reputation: reputation as unknown as IpSegment });
}

function ofEmail(answer: object, entries: readonly Entry[] = []): LoadedRelease {
  const email = {
    answerPlain: () => new TextEncoder().encode(JSON.stringify(answer)),
    evidenceFrom: () => record(entries),
  };
  return loaded({ email: email as unknown as EmailSegment });
}

function loaded(segments: Partial<LoadedRelease>, missing: readonly string[] = []): LoadedRelease {
  return {
    ...segments,
    states: dataStates({ missing: missing as never }),
    evidence: { geolocate: [], reputation: [], email: [], network: [] },
  } as unknown as LoadedRelease;
}

/** The local part stands for its hash. */
const overridesOf = (all: readonly Override[]) => new Overrides(all, (mailbox) => mailbox.split("@")[0]!);

function sourceOf(
  release: LoadedRelease | undefined,
  overrides: readonly Override[] = [],
  mode: Mode = "serve",
): AnswerSource {
  return { release, overrides: overridesOf(overrides), now: 0, mode };
}

const parsed = (outcome: Outcome) => JSON.parse(new TextDecoder().decode(bodyOf(outcome as Uint8Array)));

let count = 0;
function override(kind: OverrideKind, value: string, effect: OverrideEffect): Override {
  const id = `ovr_${++count}`;
  return {
    id,
    kind,
    value,
    effect,
    note: "secret",
    author: "x",
    createdAt: 0,
    expiresAt: undefined,
    removedAt: undefined,
  };
}
const mute = (feed: string): OverrideEffect => ({ type: "mute", feed });
const force = (
  flag: "is_abuser" | "is_proxy" | "is_tor_exit" | "disposable",
  verdict: boolean,
): OverrideEffect => ({
  type: "flag",
  flag,
  verdict,
});

const ADDRESS = parseUnwrapped("81.2.69.142")!;
const namesOf = (flags: Record<string, boolean>) => Object.keys(flags).filter((flag) => flags[flag]);

describe("an address", () => {
  const sets = (feed: string, flag: string) => ({ feed, label: "x", effect: "sets", flags: [flag] });
  const removes = (feed: string, ...flags: string[]) => ({ feed, label: "x", effect: "removes", flags });
  const label = (feed: string) => ({ feed, label: "x", effect: "label" });
  const rows: [name: string, entries: Entry[], effects: OverrideEffect[], flags: string[]][] = [
    ["the only list", [sets("a", "is_proxy")], [mute("a")], []],
    ["one of two", [sets("a", "is_proxy"), sets("b", "is_proxy")], [mute("a")], ["is_proxy"]],
    ["both", [sets("a", "is_proxy"), sets("b", "is_proxy")], [mute("a"), mute("b")], []],
    ["a list of another flag", [sets("a", "is_proxy"), sets("b", "is_tor_exit")], [mute("b")], ["is_proxy"]],
    ["a list without a claim here", [sets("a", "is_proxy")], [mute("b")], ["is_proxy"]],
    ["a label", [sets("a", "is_proxy"), label("b")], [mute("b")], ["is_proxy"]],
    ["a guard", [sets("a", "is_abuser"), removes("g", "is_abuser")], [mute("g")], ["is_abuser"]],
    ["a list that a guard holds back", [sets("a", "is_abuser"), removes("g", "is_abuser")], [mute("a")], []],
    [
      "a forced flag beats a mute",
      [sets("a", "is_proxy")],
      [mute("a"), force("is_proxy", true)],
      ["is_proxy"],
    ],
    [
      "one of two lists that a guard holds back",
      [sets("a", "is_abuser"), sets("b", "is_abuser"), removes("g", "is_abuser")],
      [mute("a")],
      [],
    ],
    ["and a guard", [removes("g", "is_abuser")], [force("is_abuser", true)], ["is_abuser"]],
    [
      "the other flags stay",
      [sets("a", "is_proxy")],
      [force("is_tor_exit", true)],
      ["is_proxy", "is_tor_exit"],
    ],
    ["nothing is known of it", [], [mute("a")], []],
  ];
  for (const [name, entries, effects, flags] of rows) {
    test(name, () => {
      const release = ofAddress(entries);
      const overrides = effects.map((effect) => override("network", "81.2.69.0/24", effect));
      const answerer = new Answerer();
      const answer = answerer.answerAddress("reputation", ADDRESS, sourceOf(release, overrides));
      assert.deepEqual(namesOf(parsed(answer)), flags);
      const { body, plain, overridden } = answer as ComposedAnswer;
      assert.equal(overridden!.isChanged, body !== release.reputation!.lookup(ADDRESS));
      assert.equal(plain, body);
    });
  }

  test("an entry that was cut off may have set the flag: it stays", () => {
    const source = sourceOf(ofAddress([sets("a", "is_proxy")], 1), [
      override("address", "81.2.69.142", mute("a")),
    ]);
    assert.deepEqual(namesOf(parsed(new Answerer().answerAddress("reputation", ADDRESS, source))), [
      "is_proxy",
    ]);
  });

  test("evidence names the overrides, not their notes", () => {
    const all = [
      override("address", "81.2.69.142", force("is_abuser", true)),
      override("network", "81.2.0.0/16", mute("a")),
    ];
    const source = sourceOf(ofAddress([sets("a", "is_proxy")]), all);
    const answer = new Answerer().answerAddress(
      "reputation",
      ADDRESS,
      source,
      INCLUDE.evidence,
    ) as ComposedAnswer;
    const { evidence } = parsed(answer);
    const common = { feed: "override", label: "override" };
    assert.deepEqual(evidence.slice(0, 2), [
      { ...common, effect: "sets", flags: ["is_abuser"], id: all[0]!.id, network: "81.2.69.142/32" },
      { ...common, effect: "mutes", mutes: "a", id: all[1]!.id, network: "81.2.0.0/16" },
    ]);
    assert.equal(answer.overridden!.mark, "o1");
    assert.deepEqual(answer.overridden!.verdict.applied, all);
  });

  test("evidence has at most eight overrides, forced flags before mutes, and room for the feeds", () => {
    const lists = Array.from({ length: 24 }, (_, i) => sets(`list-${i}`, "is_abuser"));
    const answersWith = (mutes: number) => {
      const all = Array.from({ length: mutes }, (_, i) => override("address", "81.2.69.142", mute(`m-${i}`)));
      const forced = override("network", "81.2.0.0/16", force("is_proxy", true));
      const source = sourceOf(ofAddress(lists), [...all, forced]);
      return parsed(new Answerer().answerAddress("reputation", ADDRESS, source, INCLUDE.evidence)) as {
        evidence: (Entry & { effect: string; mutes?: string })[];
        evidence_truncated?: true;
      };
    };
    const all = answersWith(7);
    assert.deepEqual([all.evidence.length, all.evidence_truncated], [32, undefined]);
    const cut = answersWith(40);
    assert.deepEqual([cut.evidence.length, cut.evidence_truncated], [32, true]);
    const own = cut.evidence.filter(({ feed }) => feed === "override");
    assert.deepEqual(
      own.map(({ effect, mutes }) => mutes ?? effect),
      ["sets", ...Array.from({ length: 7 }, (_, i) => `m-${i}`)],
    );
    assert.deepEqual(
      cut.evidence.slice(8).map(({ feed }) => feed),
      lists.map(({ feed }) => feed),
    );
  });
});

describe("email", () => {
  const sets = (feed: string, weight?: number) => ({
    feed,
    label: "disposable",
    effect: "sets",
    flags: ["disposable"],
    ...(weight && { weight }),
    span: 2,
  });
  const free = (feed: string, weight: number, effect = "label") => ({
    feed,
    label: "free_mail",
    effect,
    ...(effect === "removes" && { flags: ["disposable"] }),
    weight,
    span: 2,
  });
  const relay = (feed: string) => ({
    feed,
    label: "relay",
    effect: "removes",
    flags: ["disposable"],
    span: 2,
  });
  const YES = { disposable: true, providers: ["shop.com", "service.com"] };
  const NO = { disposable: false, providers: [] };
  const NAMED = { disposable: true, providers: ["shop.com"] };
  const rows: [name: string, entries: Entry[], before: object, effects: OverrideEffect[], after: object][] = [
    ["the only list", [sets("a")], YES, [mute("a")], NO],
    ["one of two", [sets("a"), sets("b")], YES, [mute("a")], YES],
    ["a list without a claim here", [sets("a")], YES, [mute("b")], YES],
    ["the relay list", [sets("a"), relay("r")], NO, [mute("r")], NAMED],
    ["a list that the relay list holds back", [sets("a"), relay("r")], NO, [mute("a")], NO],
    ["a witness of a vote that was close", [sets("a", 2), sets("b", 1), free("f", 2)], YES, [mute("b")], NO],
    ["a witness of a vote that was not", [sets("a", 3), sets("b", 1), free("f", 2)], YES, [mute("b")], YES],
    ["a witness against", [sets("a", 2), free("f", 2, "removes")], NO, [mute("f")], NAMED],
    [
      "one of two against",
      [sets("a", 2), free("f", 2, "removes"), free("g", 6, "removes")],
      NO,
      [mute("f")],
      NO,
    ],
    [
      "a list of ordinary mail that names only a domain below",
      [sets("a", 1), sets("b", 2), { ...free("f", 2), span: 3 }],
      YES,
      [mute("a")],
      YES,
    ],
    ["forced on", [], NO, [force("disposable", true)], NAMED],
    ["forced off", [sets("a")], YES, [force("disposable", false)], NO],
    ["a forced flag beats a mute", [sets("a")], YES, [mute("a"), force("disposable", true)], YES],
  ];
  for (const [name, entries, before, effects, after] of rows) {
    test(name, () => {
      const release = ofEmail({ valid: true, ...before }, entries);
      const answer = (overrides: readonly Override[]) =>
        parsed(new Answerer().answerEmail("jane@mail.shop.com", sourceOf(release, overrides)));
      assert.deepEqual(answer([]), { valid: true, ...before });
      const overrides = effects.map((effect) => override("domain", "shop.com", effect));
      assert.deepEqual(answer(overrides), { valid: true, ...after });
    });
  }

  test("of a single address neither evidence nor answer names it", () => {
    const one = override("email_hash", "jane", force("disposable", true));
    const source = sourceOf(ofEmail({ valid: true, ...NO }), [one]);
    const answerer = new Answerer();
    assert.deepEqual(parsed(answerer.answerEmail("jane@shop.com", source, true)), {
      valid: true,
      disposable: true,
      providers: [],
      evidence: [{ feed: "override", label: "override", effect: "sets", flags: ["disposable"], id: one.id }],
    });
    assert.ok(answerer.answerEmail("jim@shop.com", source) instanceof Uint8Array);
  });

  test("a check runs after overrides and before evidence", () => {
    const one = override("domain", "shop.com", force("disposable", true));
    const source = sourceOf(ofEmail({ valid: true, ...NO }, [free("f", 1)]), [one]);
    const entry = { feed: "check", label: "x", effect: "sets" };
    const seen: unknown[] = [];
    const answerer = new Answerer();
    const answer = (withEvidence: boolean) =>
      answerer.answerEmail("jane@shop.com", source, withEvidence, (plain, explain) => {
        seen.push(
          parsed(plain),
          parsed(explain()).evidence.map(({ feed }: Entry) => feed),
        );
        const bytes = (value: object) => new TextEncoder().encode(JSON.stringify(value));
        return { body: bytes({ checked: true }), entry: bytes(entry) };
      });
    assert.deepEqual(parsed(answer(false)), { checked: true });
    assert.deepEqual(seen, [{ valid: true, ...NAMED }, ["override", "f"]]);
    const last = answer(true) as ComposedAnswer;
    const { checked, evidence } = parsed(last);
    assert.deepEqual(checked, true);
    assert.deepEqual(
      evidence.map(({ feed }: Entry) => feed),
      ["override", "check", "f"],
    );
    assert.deepEqual(parsed(last.plain), { valid: true, ...NAMED });
  });
});

describe("failures", () => {
  const KNOWN = new TextEncoder().encode("{}");
  const geo = (answer?: Uint8Array) => ({ lookup: () => answer }) as unknown as IpSegment;
  const answerer = new Answerer();
  const reasonOf = (outcome: Outcome) => (outcome instanceof Uint8Array ? undefined : outcome);

  test("a text that is no address; IPv4 inside IPv6 is that IPv4", () => {
    assert.deepEqual(answerer.readAddress("1.1.1"), { reason: "address_invalid" });
    assert.equal(answerer.readAddress("::ffff:81.2.69.142"), undefined);
    assert.deepEqual([answerer.address.family, answerer.address.words[0]], [4, ADDRESS.words[0]]);
    const bytes = new TextEncoder().encode('"::ffff:1.1.1.1"');
    assert.equal(answerer.readAddressBytes(bytes, 0, bytes.length), false);
    assert.equal(answerer.readAddressBytes(bytes, 1, bytes.length - 1), true);
    assert.deepEqual([answerer.address.family, answerer.address.words[0]], [4, 0x01010101]);
  });

  const rows: [name: string, address: string, source: AnswerSource, want: object | undefined][] = [
    [
      "a special-use address, before all",
      "10.0.0.1",
      sourceOf(undefined),
      { reason: "reserved", use: "private" },
    ],
    ["no release", "1.1.1.1", sourceOf(undefined), { reason: "no_release" }],
    [
      "no segment",
      "1.1.1.1",
      sourceOf(loaded({}), [], "up"),
      { reason: "data_missing", names: ["geolocate"] },
    ],
    [
      "missing data",
      "1.1.1.1",
      sourceOf(loaded({ geo: geo(KNOWN) }, ["geolocation"])),
      { reason: "data_missing", names: ["geolocation"] },
    ],
    [
      "missing data in up",
      "1.1.1.1",
      sourceOf(loaded({ geo: geo(KNOWN) }, ["geolocation"]), [], "up"),
      undefined,
    ],
    ["an unknown location", "1.1.1.1", sourceOf(loaded({ geo: geo() })), { reason: "not_found" }],
  ];
  for (const [name, address, source, want] of rows) {
    test(name, () => {
      const outcome = answerer.answerAddress("geolocate", parseUnwrapped(address)!, source);
      assert.deepEqual(reasonOf(outcome), want);
    });
  }

  test("an address without claims has no flags", () => {
    const source = sourceOf(loaded({ reputation: geo() }));
    assert.equal(answerer.answerAddress("reputation", ADDRESS, source), REPUTATION_ANSWERS[0]);
  });

  test("findFailure finds those that every value has", () => {
    const release = loaded({ geo: geo(), reputation: geo() }, ["is_proxy", "is_abuser", "disposable"]);
    assert.deepEqual(
      LOOKUPS.map((lookup) => findFailure(lookup, sourceOf(release))),
      [
        undefined,
        { reason: "data_missing", names: ["is_abuser", "is_proxy"] },
        { reason: "data_missing", names: ["disposable"] },
      ],
    );
  });

  test("plainSegment: none where overrides of addresses or missing data have to be looked at", () => {
    const release = loaded({ geo: geo(), reputation: geo() }, ["is_proxy"]);
    const one = [override("address", "1.1.1.1", mute("a"))];
    assert.equal(plainSegment("geolocate", sourceOf(release, one)), release.geo);
    assert.equal(plainSegment("reputation", sourceOf(release, [], "up")), release.reputation);
    assert.equal(plainSegment("reputation", sourceOf(release, one, "up")), undefined);
    assert.equal(plainSegment("reputation", sourceOf(release)), undefined);
    assert.equal(plainSegment("geolocate", sourceOf(undefined)), undefined);
  });
});
