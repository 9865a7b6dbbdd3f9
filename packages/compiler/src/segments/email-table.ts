// email-table.ts: disposable domains, their providers, and evidence in; the sections of an email segment out.
//
// in   domain -> providers, and domain -> evidence, as policy decided them, in any order; chance
// out  answers, evidence, evidenceFeeds, domainSlots, domainNames
// err  Error for an entry that policy must not let through: no A-label, a public suffix, no or repeated providers
// src  packages/engine/segment-format.md; the reader is packages/engine/src/segment/email-segment.ts
// note names in public lists may be made to fall into the same slots, and a reader stops after MAX_DOMAIN_PROBES. The
//      keys of the hash are therefore drawn for each table: who makes names cannot know them. A table that is full
//      anyway gets other keys, and later more slots. Names with evidence alone are in the same table with an answer
//      of 0: two tables held nearly every name twice, and took 1.7 times the space.

import {
  cutSuffix,
  DOMAIN_NAME_ALIGN,
  DOMAIN_NAME_HEADER,
  DOMAIN_SLOTS_HEADER,
  domainKeys,
  hashWithKeys,
  MAX_DOMAIN_PROBES,
  toAsciiDomain,
  VALUE_OF,
} from "@inkling/engine";
import type { EvidenceText } from "../policy/evidence.ts";
import { AnswerRecords } from "./answer-records.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import type { SectionData } from "./segment-writer.ts";

/** Keys that are drawn for one table, at most. The first nearly always fit; the last four also double the table each. */
const MAX_DRAWS = 12;
const DRAWS_BEFORE_GROWTH = 8;
/** Share of slots in use, at most: a search for an absent name then reads three or four slots. */
const MAX_FULL = 0.6;

/**
 * The sections of an email segment.
 * @param domains lower-case A-labels, none a public suffix -> the providers of each: itself, then who runs it
 * @param evidence of each name that any list has; equal lists may be one array
 * @param chance from 0 to 1, as Math.random: draws the keys of the hash
 * @throws Error naming the first entry (in order of names) that no lookup may ever match
 */
export function emailSections(
  domains: ReadonlyMap<string, readonly string[]>,
  evidence: ReadonlyMap<string, readonly EvidenceText[]>,
  chance: () => number,
): SectionData[] {
  const records = new AnswerRecords("");
  const writer = new EvidenceWriter();
  const known = new Map<readonly EvidenceText[], number>();
  const names = [...new Set([...domains.keys(), ...evidence.keys()])].sort(); // code units: the same on every machine
  const values = names.map((name): Values => {
    checkName(name);
    const providers = domains.get(name);
    const entries = evidence.get(name);
    if (providers !== undefined) checkProviders(name, providers);
    const reason = entries === undefined ? 0 : (known.get(entries) ?? writer.add(entries));
    if (entries !== undefined) known.set(entries, reason);
    return [providers === undefined ? 0 : records.add(JSON.stringify(providers)), reason];
  });
  const { bytes, pointers } = nameSection(names, values);
  return [
    ...records.sections(),
    ...writer.sections(),
    { name: "domainSlots", data: slotSection(names, pointers, chance) },
    { name: "domainNames", data: bytes },
  ];
}

/** Numbers of the records of a name's answer and evidence; 0 is none. */
type Values = readonly [answer: number, evidence: number];

function checkName(name: string): void {
  if (toAsciiDomain(name) !== name) throw entryError(name, "is no domain name in lower-case A-labels");
  if (cutSuffix(name).registrableStart < 0) throw entryError(name, "is a public suffix");
}

function checkProviders(name: string, providers: readonly string[]): void {
  if (providers.length === 0) throw entryError(name, "has no provider");
  if (new Set(providers).size !== providers.length) throw entryError(name, "names a provider twice");
  const wrong = providers.find((provider) => toAsciiDomain(provider) !== provider);
  if (wrong !== undefined)
    throw entryError(name, `has a provider that is no domain name in lower-case A-labels: ${wrong}`);
}

function entryError(name: string, problem: string): Error {
  return new Error(`email table: ${JSON.stringify(name)} ${problem}`);
}

/** Four zeros, so that no pointer is 0; then for each name its values, its length, itself, zeros up to four. */
function nameSection(names: readonly string[], values: readonly Values[]) {
  const pointers = new Uint32Array(names.length);
  let end = DOMAIN_NAME_ALIGN;
  names.forEach((name, i) => {
    pointers[i] = end / DOMAIN_NAME_ALIGN;
    end = Math.ceil((end + DOMAIN_NAME_HEADER + name.length) / DOMAIN_NAME_ALIGN) * DOMAIN_NAME_ALIGN;
  });
  const bytes = new Uint8Array(end);
  const view = new DataView(bytes.buffer);
  const encoder = new TextEncoder();
  names.forEach((name, i) => {
    const at = pointers[i]! * DOMAIN_NAME_ALIGN;
    const [answer, evidence] = values[i]!;
    view.setUint32(at + 4 * VALUE_OF.answer, answer, true);
    view.setUint32(at + 4 * VALUE_OF.evidence, evidence, true);
    view.setUint8(at + DOMAIN_NAME_HEADER - 1, name.length);
    encoder.encodeInto(name, bytes.subarray(at + DOMAIN_NAME_HEADER));
  });
  return { bytes, pointers };
}

function slotSection(names: readonly string[], pointers: Uint32Array, chance: () => number): Uint32Array {
  const draw = () => Math.floor(chance() * 2 ** 32) >>> 0;
  let count = 1;
  while (count * MAX_FULL < names.length) count *= 2;
  for (let draws = 0; draws < MAX_DRAWS; draws++) {
    if (draws >= DRAWS_BEFORE_GROWTH) count *= 2;
    const slots = fillSlots(names, pointers, count, [draw(), (draw() + draws) >>> 0]);
    if (slots !== undefined) return slots;
  }
  throw new Error(`email table: ${names.length} names fit no table, tried ${MAX_DRAWS} keys`);
}

/** Open addressing, linear; `undefined` when a name would be too far from its home. */
function fillSlots(
  names: readonly string[],
  pointers: Uint32Array,
  count: number,
  seed: readonly [number, number],
): Uint32Array | undefined {
  const slots = new Uint32Array(DOMAIN_SLOTS_HEADER + 2 * count);
  slots.set(seed);
  const keys = domainKeys(...seed);
  for (let i = 0; i < names.length; i++) {
    const hash = hashWithKeys(names[i]!, keys);
    let slot = hash & (count - 1);
    let probes = 1;
    while (slots[DOMAIN_SLOTS_HEADER + 2 * slot + 1] !== 0) {
      if (++probes > MAX_DOMAIN_PROBES) return undefined;
      slot = (slot + 1) & (count - 1);
    }
    slots[DOMAIN_SLOTS_HEADER + 2 * slot] = hash;
    slots[DOMAIN_SLOTS_HEADER + 2 * slot + 1] = pointers[i]!;
  }
  return slots;
}
