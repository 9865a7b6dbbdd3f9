// network-table.ts: builds the sections of the network segment from autonomous systems and from what operators publish.
//
// Cost: 3 s for 732,000 networks of 91,000 systems, and 300,000 published networks.

import { cover, overlay, type RangeColumns, SPAN_NONE, SPAN_OF_ANSWER } from "@inkling/engine";
import type { KindClaims, NetworkClaims, NetworkKind } from "../catalog/claims.ts";
import { OURS } from "../geo/evidence.ts";
import { networksIn, numbered } from "../geo/place-source.ts";
import { judgeKind, type KindVerdict, ruleText } from "../network/kinds.ts";
import { type Published, publishedRanges, SERVICE_RULES } from "../network/services.ts";
import type { AsnNetworks, AutonomousSystem } from "../parse/asn.ts";
import type { EvidenceText } from "../policy/evidence.ts";
import { AnswerRecords } from "./answer-records.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import { rangeSections } from "./range-table.ts";
import type { SectionData } from "./segment-writer.ts";

interface NetworkTable {
  readonly sections: readonly SectionData[];
  readonly ranges: { readonly v4: number; readonly v6: number };
  readonly records: number;
}

/** @param feed the id of the feed from which `asns` comes */
export function networkTable(
  feed: string,
  asns: AsnNetworks,
  claims: readonly NetworkClaims[],
  kinds: readonly KindClaims[] = [],
): NetworkTable {
  const published = publishedRanges(claims);
  const facts = new Facts(feed, asns.systems, published.lists, kinds);
  const family = (which: 4 | 6): RangeColumns => {
    const under = cover(which, numbered(asns, which), asns.networks[which]);
    const over = which === 4 ? published.v4 : published.v6;
    return overlay(under, networksIn(over), (list, system) => facts.valueFor(system, list), over.length);
  };
  const [v4, v6] = [family(4), family(6)];
  return {
    sections: [...rangeSections(v4), ...rangeSections(v6), ...facts.sections()],
    ranges: { v4: v4.length, v6: v6.length },
    records: facts.size,
  };
}

/**
 * Returns the operator of the smallest network around the range, among the feeds that operators themselves publish.
 * Undefined if there is no such network.
 */
function operatorOf(published: readonly Published[]): string | undefined {
  const nearest = published
    .toSorted((a, b) => b.bits - a.bits)
    .find(({ operator }) => operator !== undefined);
  return nearest?.operator;
}

const NOTHING_KNOWN = { kind: "unknown", shared: false, services: [] };

/**
 * Maps an autonomous system and a list of published networks to a record of facts. The record is created on first use.
 */
class Facts {
  private readonly feed: string;
  private readonly systems: readonly AutonomousSystem[];
  private readonly lists: readonly (readonly Published[])[];
  private readonly claims: readonly KindClaims[];
  private readonly kinds: KindVerdict[] = [];
  private readonly records = new AnswerRecords(JSON.stringify(NOTHING_KNOWN));
  private readonly evidence = new EvidenceWriter();
  private readonly values = new Map<number, number>();

  constructor(
    feed: string,
    systems: readonly AutonomousSystem[],
    lists: readonly (readonly Published[])[],
    claims: readonly KindClaims[],
  ) {
    this.feed = feed;
    this.systems = systems;
    this.lists = lists;
    this.claims = claims;
  }

  get size(): number {
    return this.records.size;
  }

  sections(): SectionData[] {
    return [...this.records.sections(), this.records.noteSection(), ...this.evidence.sections()];
  }

  /** Returns a record number. Both arguments are an index plus 1; 0 means none. */
  valueFor(system: number, list: number): number {
    if (system === 0 && list === 0) return 0;
    const key = list * (this.systems.length + 1) + system;
    let value = this.values.get(key);
    if (value === undefined) {
      value = this.make(system, list === 0 ? [] : this.lists[list - 1]!);
      this.values.set(key, value);
    }
    return value;
  }

  private make(system: number, published: readonly Published[]): number {
    const { asn, organization } = this.systems[system - 1] ?? {};
    const verdict = system === 0 ? undefined : this.kindOfSystem(system - 1);
    const rules = published.map((one) => SERVICE_RULES[one.label]!);
    const stated: NetworkKind | undefined = rules.find((one) => one.kind !== undefined)?.kind;
    const services = [...new Set(rules.flatMap(({ service }) => service ?? []))].sort();
    const answer = JSON.stringify({
      asn,
      organization,
      kind: stated ?? verdict?.kind ?? "unknown",
      shared: rules.some(({ shared }) => shared),
      services,
      operator: operatorOf(published),
    });
    return this.records.add(answer, this.evidence.add(this.entries(system, verdict, published)));
  }

  private entries(
    system: number,
    verdict: KindVerdict | undefined,
    published: readonly Published[],
  ): EvidenceText[] {
    const { feed } = this;
    const fields = this.systems[system - 1]?.organization
      ? ["network.asn", "network.organization"]
      : ["network.asn"];
    const isStated = published.some(({ label }) => SERVICE_RULES[label]?.kind !== undefined);
    return [
      ...(system === 0
        ? []
        : [{ feed, label: "autonomous_system", effect: "fills", fields, span: SPAN_OF_ANSWER } as const]),
      ...published.map((one): EvidenceText => {
        const { service, shared, kind } = SERVICE_RULES[one.label]!;
        const filled = [
          kind && "kind",
          shared && "shared",
          service && "services",
          one.operator !== undefined && "operator",
        ];
        return {
          feed: one.feed,
          label: one.label,
          effect: "fills",
          fields: filled.flatMap((name) => (name ? [`network.${name}`] : [])),
          span: one.bits,
        };
      }),
      ...(verdict === undefined || isStated ? [] : kindEntries(verdict)),
    ];
  }

  private kindOfSystem(index: number): KindVerdict {
    const { asn, organization } = this.systems[index]!;
    this.kinds[index] ??= judgeKind(asn, organization, this.claims);
    return this.kinds[index];
  }
}

/**
 * Returns an entry for each source that states a kind. A source that states the chosen kind fills it in. A source that
 * states a different kind becomes a label.
 */
function kindEntries({ kind, rule, stated }: KindVerdict): EvidenceText[] {
  const effectOf = (of: NetworkKind) =>
    of === kind || (of === "isp" && kind === "mobile")
      ? ({ effect: "fills", fields: ["network.kind"] } as const)
      : ({ effect: "label" } as const);
  return [
    ...stated.map(
      (one): EvidenceText => ({ feed: one.feed, label: one.kind, ...effectOf(one.kind), span: SPAN_NONE }),
    ),
    ...(rule === undefined
      ? []
      : [
          {
            feed: OURS,
            label: rule.kind,
            ...effectOf(rule.kind),
            why: ruleText(rule),
            span: SPAN_NONE,
          } as const,
        ]),
  ];
}
