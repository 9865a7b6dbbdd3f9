// kinds.ts: measures for how much of the internet the network kind is known, and how often the kind is right.
//
// Operators choose their own PeeringDB types. Many hosting companies choose "Cable/DSL/ISP", and an NSP can be
// anything.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { IpAddress } from "@inkling/engine";
import { type AsnNetworks, FEEDS, isSystemFormat, parseSystemKinds, readAsnCsv } from "../lib/compiler.ts";
import { ROOT } from "../lib/data.ts";
import { MIRROR } from "../lib/shared-folders.ts";
import { type Build, lookups } from "./builds.ts";
import { count, share, type TruthRow } from "./rows.ts";
import { isThere, SAMPLE } from "./samples.ts";

/** For each PeeringDB type, the target share of known kinds, and the kinds that are right. */
const TYPES: Readonly<Record<string, readonly [target: string, ...kinds: string[]]>> = {
  "Cable/DSL/ISP": ["at least 75%", "isp", "mobile"],
  Content: ["at least 60%", "hosting", "business"],
  "Educational/Research": ["at least 80%", "education"],
  Government: ["at least 75%", "government"],
};
const RIGHT = { education: "at least 95%", isp: "at least 95%", hosting: "at least 92%" } as const;

interface Space {
  all: number;
  known: number;
}

/** A release's data about the systems, by the first address of each network that they announce. */
interface Systems {
  readonly kinds: ReadonlyMap<number, string>;
  /** Announced address space of each system, in IPv4 addresses. */
  readonly size: ReadonlyMap<number, number>;
  readonly v4: Space;
  readonly v6: Space;
}

export function measureKinds(build: Build): TruthRow[] {
  const { mode } = build;
  const { kinds, size, v4, v6 } = systemsOf(build);
  const rows: TruthRow[] = [
    { v4, target: "at least 90%", name: "IPv4" },
    { v4: v6, target: "at least 85%", name: "IPv6, in /48" },
  ].map(({ v4: { known, all }, target, name }) => ({
    measure: "kind known",
    sample: `announced address space, ${name}`,
    mode,
    value: share(known, all),
    target,
    seen: "held out" as const,
  }));
  return [...rows, ...hostingRows(mode, kinds, size), ...typeRows(mode, kinds), ...halfRows(mode, kinds)];
}

/** Returns the networks that systems announce, from the npm package. */
export function announced(): AsnNetworks {
  const folder = dirname(
    createRequire(join(ROOT, "packages/compiler/package.json")).resolve("@ip-location-db/asn/package.json"),
  );
  const files = ["asn-ipv4.csv", "asn-ipv6.csv"].map((name) => readFileSync(join(folder, name)));
  return readAsnCsv(files);
}

function systemsOf({ release }: Build): Systems {
  const asns = announced();
  const { reputation } = lookups(release);
  const [kinds, size] = [new Map<number, string>(), new Map<number, number>()];
  const spaces = { 4: { all: 0, known: 0 }, 6: { all: 0, known: 0 } };
  for (const family of [4, 6] as const)
    asns.walk(family, (w0, w1, w2, w3, bits, id) => {
      const { asn } = asns.systems[id]!;
      const address = new IpAddress();
      address.family = family;
      address.words.set([w0, w1, w2, w3]);
      const network = reputation(address)?.network;
      if (!network) return;
      const amount = 2 ** ((family === 4 ? 32 : 48) - Math.min(bits, family === 4 ? 32 : 48));
      const space = spaces[family];
      space.all += amount;
      if (network.kind !== "unknown") space.known += amount;
      if (family === 4) size.set(asn, (size.get(asn) ?? 0) + amount);
      if (network.asn === asn && !kinds.has(asn)) kinds.set(asn, network.kind);
    });
  return { kinds, size, v4: spaces[4], v6: spaces[6] };
}

/** Returns rows for systems on public lists of hosting companies. The build from the mirror has read these lists. */
function hostingRows(mode: Build["mode"], kinds: Systems["kinds"], size: Systems["size"]): TruthRow[] {
  const lists = FEEDS.filter(({ format, systems }) => isSystemFormat(format) && systems?.kind === "hosting");
  const files = lists.flatMap((feed) => {
    const path = ["txt", "csv"].map((ending) => join(MIRROR, `${feed.id}.${ending}`)).find(existsSync);
    return path === undefined ? [] : [{ feed, path }];
  });
  const sample = `systems on ${lists.map(({ id }) => id).join(" and ")}`;
  if (files.length === 0)
    return [{ measure: "hosting", sample, mode, value: undefined, seen: "not measured: lacks a mirror" }];
  const listed = new Set(
    files.flatMap(({ feed, path }) => [
      ...parseSystemKinds(feed.format, readFileSync(path), feed.systems!.kind).kinds.keys(),
    ]),
  );
  const announced = [...listed].filter((asn) => kinds.has(asn));
  const found = announced.filter((asn) => kinds.get(asn) === "hosting");
  const space = (asns: readonly number[]) => asns.reduce((sum, asn) => sum + (size.get(asn) ?? 0), 0);
  const seen = mode === "mirror" ? ("built from" as const) : ("held out" as const);
  const row = { sample: `${sample}, ${announced.length}`, mode, seen };
  return [
    {
      ...row,
      measure: "hosting, by system",
      value: share(found.length, announced.length),
      target: "at least 85%",
    },
    { ...row, measure: "hosting, by address", value: share(space(found), space(announced)) },
  ];
}

function typeRows(mode: Build["mode"], kinds: Systems["kinds"]): TruthRow[] {
  const { peeringdb } = SAMPLE;
  const measured = { mode, seen: "held out" } as const;
  if (!isThere(peeringdb)) {
    const seen = `not measured: lacks ${peeringdb.from}` as const;
    const without = (measure: string, sample: string): TruthRow => ({
      measure,
      sample,
      mode,
      value: undefined,
      seen,
    });
    return [
      ...Object.keys(TYPES).map((type) => without("kind known", `${peeringdb.name}: ${type}`)),
      ...Object.keys(RIGHT).map((kind) => without(`right where it says ${kind}`, peeringdb.name)),
    ];
  }
  const file: { data: readonly { asn: number; info_type?: string; info_types?: readonly string[] }[] } =
    JSON.parse(readFileSync(peeringdb.path, "utf8"));
  const typed = file.data.flatMap(({ asn, info_type, info_types }) => {
    const types = info_types?.length ? info_types : [info_type];
    const [type = ""] = types;
    return types.length === 1 && type in TYPES && kinds.has(asn) ? [{ type, kind: kinds.get(asn)! }] : [];
  });
  const known = Object.entries(TYPES).map(([type, [target]]): TruthRow => {
    const of = typed.filter((one) => one.type === type);
    const value = share(of.filter(({ kind }) => kind !== "unknown").length, of.length);
    return {
      ...measured,
      measure: "kind known",
      sample: `${peeringdb.name}: ${type}, ${of.length}`,
      value,
      target,
    };
  });
  const right = Object.entries(RIGHT).map(([kind, target]): TruthRow => {
    const of = typed.filter((one) => one.kind === kind);
    const isRight = ({ type }: { type: string }) => TYPES[type]!.includes(kind);
    const sample = `${peeringdb.name}: said to be ${kind}, ${of.length}`;
    return {
      ...measured,
      measure: "right where known",
      sample,
      value: share(of.filter(isRight).length, of.length),
      target,
    };
  });
  return [...known, ...right];
}

/** The kinds that are right for each list of systems. Service providers and transit providers can be of any kind. */
const LISTS = {
  access: ["isp", "mobile", "education", "government", "business"],
  hosting: ["hosting", "business"],
} as const;
const LIST_TARGETS = {
  access: ["at least 70%", "at least 92%"],
  hosting: ["at least 50%", "at least 92%"],
} as const;

/** The rules about names were chosen with the other half of the systems. */
const isHeldOut = (asn: number): boolean => (((asn * 2_654_435_761) >>> 16) & 1) === 1;

/** Returns rows for half of the systems whose operators chose a type. Content networks are on the list `hosting`. */
function halfRows(mode: Build["mode"], kinds: Systems["kinds"]): TruthRow[] {
  const { systemTypes } = SAMPLE;
  if (!isThere(systemTypes)) {
    const seen = `not measured: lacks ${systemTypes.from}` as const;
    return [{ measure: "kind known, right", sample: systemTypes.name, mode, value: undefined, seen }];
  }
  const lists = (["access", "hosting"] as const).map((list) => {
    const text = readFileSync(join(systemTypes.path, `${list}.txt`), "utf8");
    const asns = Array.from(text.matchAll(/^AS(\d+)/gm), ([, asn]) => Number(asn));
    const of = asns.filter((asn) => isHeldOut(asn) && kinds.has(asn)).map((asn) => kinds.get(asn)!);
    return { list, of, known: of.filter((kind) => kind !== "unknown") };
  });
  const measured = { mode, seen: "held out" } as const;
  const rows = lists.flatMap(({ list, of, known }): TruthRow[] => {
    const sample = `${systemTypes.name}: ${list === "access" ? "access and others" : "Content"}, ${count(of.length)}`;
    const right = known.filter((kind) => (LISTS[list] as readonly string[]).includes(kind));
    const [known_, right_] = LIST_TARGETS[list];
    return [
      { ...measured, measure: "kind known", sample, target: known_, value: share(known.length, of.length) },
      {
        ...{ ...measured, measure: "right where known", sample, target: right_ },
        value: share(right.length, known.length),
      },
    ];
  });
  const [access, hosting] = lists.map(
    ({ of }) => of.filter((kind) => kind === "isp" || kind === "mobile").length / of.length,
  ) as [number, number];
  const sample = `${systemTypes.name}: said to be isp or mobile`;
  const measure = "access, if both types weigh the same";
  return [...rows, { ...measured, measure, sample, value: share(access, access + hosting) }];
}
