// What overrides make of an answer: forced flags, and feeds that are muted, judged again by the evidence.

import { describe, expect, test } from "bun:test";
import {
  answerEmail,
  bitsOf,
  type EmailSegment,
  type IpSegment,
  type LoadedRelease,
  type Overridden,
  type Override,
  type OverrideEffect,
  type OverrideKind,
  overrideEmail,
  overrideEntries,
  overrideReputation,
  parseIp,
  REPUTATION_ANSWERS,
  withAddressEvidence,
} from "@inkling/engine";
import { overriddenEtag } from "../http/etag.ts";
import { overridesOf } from "../overrides/record.ts";
import { emailHash } from "../overrides/target.ts";

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

/** Releases of one answer; its flags are what its entries say, as policy has it. */
function ofAddress(entries: readonly Entry[], truncated = 0): { release: LoadedRelease; answer: Uint8Array } {
  const flags = (effect: string) =>
    bitsOf(entries.filter((entry) => entry.effect === effect).flatMap((entry) => entry.flags as never[]));
  const reputation = { evidence: () => record(entries, truncated), networkBits: () => 24 };
  return {
    release: {
      reputation: reputation as unknown as IpSegment,
      evidence: { reputation: [] },
    } as unknown as LoadedRelease,
    answer: REPUTATION_ANSWERS[flags("sets") & ~flags("removes")]!,
  };
}

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

const ADDRESS = parseIp("81.2.69.142")!;
const said = (overridden: Overridden | undefined) =>
  overridden && JSON.parse(new TextDecoder().decode(overridden.body));
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
    ["a list that says nothing here", [sets("a", "is_proxy")], [mute("b")], ["is_proxy"]],
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
  test.each(rows)("%s", (_, entries, effects, flags) => {
    const { release, answer } = ofAddress(entries);
    const overrides = overridesOf(effects.map((effect) => override("network", "81.2.69.0/24", effect)));
    const overridden = overrideReputation(answer, ADDRESS, release, overrides, 0);
    expect(namesOf(said(overridden))).toEqual(flags);
    expect(overridden!.isChanged).toBe(overridden!.body !== answer);
  });

  test("what did not fit into the evidence may have set the flag: it stays", () => {
    const { release, answer } = ofAddress([sets("a", "is_proxy")], 1);
    const overrides = overridesOf([override("address", "81.2.69.142", mute("a"))]);
    expect(namesOf(said(overrideReputation(answer, ADDRESS, release, overrides, 0)))).toEqual(["is_proxy"]);
  });

  test("evidence names the overrides, not their notes; so does the ETag, where evidence is asked for", () => {
    const { release, answer } = ofAddress([sets("a", "is_proxy")]);
    const all = [
      override("address", "81.2.69.142", force("is_abuser", true)),
      override("network", "81.2.0.0/16", mute("a")),
    ];
    const overridden = overrideReputation(answer, ADDRESS, release, overridesOf(all), 0)!;
    const entries = overrideEntries(overridden.verdict).map((bytes) =>
      JSON.parse(new TextDecoder().decode(bytes)),
    );
    expect(entries).toEqual([
      {
        feed: "override",
        label: "override",
        effect: "sets",
        flags: ["is_abuser"],
        id: all[0]!.id,
        network: "81.2.69.142/32",
      },
      {
        feed: "override",
        label: "override",
        effect: "mutes",
        mutes: "a",
        id: all[1]!.id,
        network: "81.2.0.0/16",
      },
    ]);
    expect(overriddenEtag('"id"', overridden, false)).toBe('"id-o1"');
    expect(overriddenEtag('"id"', overridden, true)).toMatch(/^"id-o1-[0-9a-f]+"$/);
  });

  test("of many overrides eight are told, forced flags before mutes, and lists keep their room", () => {
    const lists = Array.from({ length: 24 }, (_, i) => sets(`list-${i}`, "is_abuser"));
    const { release, answer } = ofAddress(lists);
    const told = (mutes: number) => {
      const all = Array.from({ length: mutes }, (_, i) => override("address", "81.2.69.142", mute(`m-${i}`)));
      const { verdict } = overrideReputation(
        answer,
        ADDRESS,
        release,
        overridesOf([...all, override("network", "81.2.0.0/16", force("is_proxy", true))]),
        0,
      )!;
      const body = withAddressEvidence(answer, "reputation", ADDRESS, release, overrideEntries(verdict));
      return JSON.parse(new TextDecoder().decode(body)) as {
        evidence: (Entry & { effect: string; mutes?: string })[];
        evidence_truncated?: true;
      };
    };
    const all = told(7);
    expect([all.evidence.length, all.evidence_truncated]).toEqual([32, undefined]);
    const cut = told(40);
    expect([cut.evidence.length, cut.evidence_truncated]).toEqual([32, true]);
    const own = cut.evidence.filter(({ feed }) => feed === "override");
    expect(own.map(({ effect, mutes }) => mutes ?? effect)).toEqual([
      "sets",
      ...Array.from({ length: 7 }, (_, i) => `m-${i}`),
    ]);
    expect(cut.evidence.slice(8).map(({ feed }) => feed)).toEqual(lists.map(({ feed }) => feed));
  });
});

describe("e-mail", () => {
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
    ["a list that says nothing here", [sets("a")], YES, [mute("b")], YES],
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
  test.each(rows)("%s", (_, entries, before, effects, after) => {
    const email = {
      answerPlain: () => new TextEncoder().encode(JSON.stringify({ valid: true, ...before })),
      evidenceFrom: () => record(entries),
    } as unknown as EmailSegment;
    const release = { email, evidence: { email: [] } } as unknown as LoadedRelease;
    const answer = answerEmail("jane@mail.shop.com", email);
    expect(JSON.parse(new TextDecoder().decode(answer))).toEqual({ valid: true, ...before });
    const overrides = overridesOf(effects.map((effect) => override("domain", "shop.com", effect)));
    const overridden = overrideEmail(answer, "jane@mail.shop.com", release, overrides, 0);
    expect(said(overridden)).toEqual({ valid: true, ...after });
  });

  test("of a single address neither evidence nor answer says which", () => {
    const email = {
      answerPlain: () => new TextEncoder().encode(JSON.stringify({ valid: true, ...NO })),
      evidenceFrom: () => undefined,
    } as unknown as EmailSegment;
    const release = { email, evidence: { email: [] } } as unknown as LoadedRelease;
    const one = override("email_hash", emailHash("jane@shop.com")!, force("disposable", true));
    const answer = answerEmail("jane@shop.com", email);
    const overridden = overrideEmail(answer, "jane@shop.com", release, overridesOf([one]), 0)!;
    expect(said(overridden)).toEqual({ valid: true, disposable: true, providers: [] });
    expect(new TextDecoder().decode(overrideEntries(overridden.verdict)[0])).toBe(
      `{"feed":"override","label":"override","effect":"sets","flags":["disposable"],"id":"${one.id}"}`,
    );
    expect(overrideEmail(answer, "jim@shop.com", release, overridesOf([one]), 0)).toBeUndefined();
  });
});
