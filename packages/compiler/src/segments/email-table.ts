// email-table.ts: writes the sections of an email segment from disposable domains, their providers, and evidence.
//
// Source: packages/engine/segment-format.md; the reader is packages/engine/src/segment/email-segment.ts.
//
// Someone could choose names for public lists that all fall into the same slots, and a reader stops after
// MAX_DOMAIN_PROBES. So the hash keys of a table follow from a digest of all its names: whoever chooses names cannot know
// the keys in advance, and equal lists still give equal segments. If a name would nevertheless be too far from its slot,
// the table gets new keys, and later more slots. Names that only have evidence are in a second table, because a plain
// lookup then reads an eighth of the memory (bench/README.md, Email). No name is in both tables.

import { createHash } from "node:crypto";
import {
  DOMAIN_NAME_ALIGN,
  DOMAIN_SLOTS_HEADER,
  DOMAIN_TABLES,
  type DomainTableLayout,
  domainKeys,
  domainNameHeader,
  hashWithKeys,
  MAX_DOMAIN_PROBES,
} from "@inkling/engine";
import type { EvidenceText } from "../policy/evidence.ts";
import { AnswerRecords } from "./answer-records.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import type { SectionData } from "./segment-writer.ts";

/**
 * Maximum number of sets of keys drawn for one table. The first set nearly always fits. Each of the last four attempts
 * also doubles the table.
 */
const MAX_DRAWS = 12;
const DRAWS_BEFORE_GROWTH = 8;
/** Maximum share of slots in use. Searching for an absent name then reads three or four slots. */
const MAX_FULL = 0.6;

/**
 * Returns the sections of an email segment.
 * @param domains domain names in lower-case A-labels, none of which is a public suffix, with the providers of each: the
 *   domain itself, then the service that runs it
 * @param evidence the evidence for each name that is on any list; equal lists may share one array
 * @param drawWord for tests: returns the next 32-bit word of hash keys
 * @throws Error if the names do not fit into a table. The segment's `verify` checks the names and providers
 */
export function emailSections(
  domains: ReadonlyMap<string, readonly string[]>,
  evidence: ReadonlyMap<string, readonly EvidenceText[]>,
  drawWord?: () => number,
): SectionData[] {
  const records = new AnswerRecords("");
  const writer = new EvidenceWriter();
  const known = new Map<readonly EvidenceText[], number>();
  // Sorting by code units gives the same order on every machine.
  const names = [...new Set([...domains.keys(), ...evidence.keys()])].sort();
  const draw = drawWord ?? wordsOf(names);
  const answered: Named[] = [];
  const evidenceOnly: Named[] = [];
  for (const name of names) {
    const providers = domains.get(name);
    const entries = evidence.get(name);
    const reason = entries === undefined ? 0 : (known.get(entries) ?? writer.add(entries));
    if (entries !== undefined) known.set(entries, reason);
    if (providers === undefined) evidenceOnly.push({ name, answer: 0, evidence: reason });
    else answered.push({ name, answer: records.add(JSON.stringify(providers)), evidence: reason });
  }
  return [
    ...records.sections(),
    ...writer.sections(),
    // With a power of two, readers find a slot 2 to 8 ns faster. A plain lookup reads only this table.
    ...tableSections(DOMAIN_TABLES.answered, answered, powerOfTwo(slotsFor(answered)), draw),
    ...tableSections(DOMAIN_TABLES.evidenceOnly, evidenceOnly, slotsFor(evidenceOnly), draw),
  ];
}

/** A name with the record numbers of its answer and its evidence; 0 means none. */
interface Named {
  readonly name: string;
  readonly answer: number;
  readonly evidence: number;
}

function tableSections(
  layout: DomainTableLayout,
  rows: readonly Named[],
  count: number,
  draw: () => number,
): SectionData[] {
  const { bytes, pointers } = nameSection(layout, rows);
  return [
    { name: layout.slots, data: slotSection(rows, pointers, count, draw) },
    { name: layout.names, data: bytes },
  ];
}

/**
 * Writes four zero bytes, so that no pointer is 0. Then, for each name, it writes the values, the length, the name, and
 * padding to a multiple of four.
 */
function nameSection({ values }: DomainTableLayout, rows: readonly Named[]) {
  const header = domainNameHeader(values);
  const pointers = new Uint32Array(rows.length);
  let end = DOMAIN_NAME_ALIGN;
  rows.forEach(({ name }, i) => {
    pointers[i] = end / DOMAIN_NAME_ALIGN;
    end = Math.ceil((end + header + name.length) / DOMAIN_NAME_ALIGN) * DOMAIN_NAME_ALIGN;
  });
  const bytes = new Uint8Array(end);
  const view = new DataView(bytes.buffer);
  const encoder = new TextEncoder();
  rows.forEach((row, i) => {
    const at = pointers[i]! * DOMAIN_NAME_ALIGN;
    values.forEach((kind, word) => {
      view.setUint32(at + 4 * word, row[kind], true);
    });
    view.setUint8(at + header - 1, row.name.length);
    encoder.encodeInto(row.name, bytes.subarray(at + header));
  });
  return { bytes, pointers };
}

/**
 * Returns a function that returns one 32-bit word per call. The words follow from all names together, so they are as
 * good as random to somebody who chooses some of the names.
 */
function wordsOf(names: readonly string[]): () => number {
  const digest = createHash("sha256").update(names.join("\n")).digest();
  let count = 0;
  return () => createHash("sha256").update(digest).update(`${count++}`).digest().readUInt32LE();
}

/** Returns the smallest number of slots for these names. */
const slotsFor = (rows: readonly Named[]): number => Math.max(1, Math.ceil(rows.length / MAX_FULL));

/** Returns the smallest power of two that is not below `least`. */
const powerOfTwo = (least: number): number => 2 ** Math.ceil(Math.log2(least));

/** @param count number of slots for the first sets of keys */
function slotSection(
  rows: readonly Named[],
  pointers: Uint32Array,
  count: number,
  draw: () => number,
): Uint32Array {
  for (let draws = 0; draws < MAX_DRAWS; draws++) {
    const growth = 2 ** Math.max(0, draws + 1 - DRAWS_BEFORE_GROWTH);
    const slots = fillSlots(rows, pointers, count * growth, [draw(), (draw() + draws) >>> 0]);
    if (slots !== undefined) return slots;
  }
  throw new Error(`email table: ${rows.length} names do not fit into a table after ${MAX_DRAWS} keys`);
}

/**
 * Fills the slots by linear open addressing. The names are added in the order of their home slots, which keeps each of
 * them close to its own. Returns `undefined` if a name would be too far from it.
 */
function fillSlots(
  rows: readonly Named[],
  pointers: Uint32Array,
  count: number,
  seed: readonly [number, number],
): Uint32Array | undefined {
  const slots = new Uint32Array(DOMAIN_SLOTS_HEADER + 2 * count);
  slots.set(seed);
  const keys = domainKeys(...seed);
  const hashes = Uint32Array.from(rows, ({ name }) => hashWithKeys(name, keys));
  const homes = hashes.map((hash) => hash % count);
  const order = Uint32Array.from(rows.keys()).sort((a, b) => homes[a]! - homes[b]! || a - b);
  for (const i of order) {
    const hash = hashes[i]!;
    let slot = homes[i]!;
    let probes = 1;
    while (slots[DOMAIN_SLOTS_HEADER + 2 * slot + 1] !== 0) {
      if (++probes > MAX_DOMAIN_PROBES) return undefined;
      if (++slot === count) slot = 0;
    }
    slots[DOMAIN_SLOTS_HEADER + 2 * slot] = hash;
    slots[DOMAIN_SLOTS_HEADER + 2 * slot + 1] = pointers[i]!;
  }
  return slots;
}
