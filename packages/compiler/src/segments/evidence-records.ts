// evidence-records.ts: writes the `evidence…` sections from evidence entries.
//
// An entry stores only the span of its network or domain, because the reader derives both from the address or host that
// is looked up. Source: packages/engine/segment-format.md; the reader is packages/engine/src/segment/evidence.ts. The
// same lists in the same order give the same bytes, because the bytes contain no timestamps.

import {
  EFFECTS,
  EVIDENCE_ENTRY_BYTES,
  EVIDENCE_HEADER_BYTES,
  MAX_EVIDENCE_ENTRIES,
  RECORD_SECTIONS,
} from "@inkling/engine";
import type { EvidenceText } from "../policy/evidence.ts";
import { AnswerRecords } from "./answer-records.ts";
import type { SectionData } from "./segment-writer.ts";

/** Maximum length of an entry's text in bytes. The reader limits the size of answers. */
const MAX_ENTRY_TEXT = 1024;

export class EvidenceWriter {
  private readonly records = new AnswerRecords("");
  private readonly feeds = new Map<string, number>();

  /** Returns the number of the list's record, or 0 for an empty list. */
  add(entries: readonly EvidenceText[]): number {
    if (entries.length === 0) return 0;
    const kept = topEvidence(entries);
    const texts = kept.map(entryText);
    const size = texts.reduce((sum, text) => sum + EVIDENCE_ENTRY_BYTES + text.length, EVIDENCE_HEADER_BYTES);
    const record = Buffer.alloc(size);
    record.writeUInt16LE(kept.length, 0);
    record.writeUInt16LE(kept.length < entries.length ? 1 : 0, 2);
    let at = EVIDENCE_HEADER_BYTES;
    kept.forEach((entry, i) => {
      const text = texts[i]!;
      record.writeUInt16LE(this.feedNumber(entry.feed), at);
      record.writeUInt16LE(text.length, at + 2);
      record.writeUInt8(entry.span, at + 4);
      at += EVIDENCE_ENTRY_BYTES + record.write(text, at + EVIDENCE_ENTRY_BYTES, "latin1");
    });
    return this.records.add(record);
  }

  /** Number of distinct lists. */
  get size(): number {
    return this.records.size - 1;
  }

  sections(): SectionData[] {
    return [
      ...this.records.sections(RECORD_SECTIONS.evidence),
      { name: "evidenceFeeds", data: new TextEncoder().encode(JSON.stringify([...this.feeds.keys()])) },
    ];
  }

  private feedNumber(feed: string): number {
    const known = this.feeds.get(feed);
    if (known !== undefined) return known;
    if (this.feeds.size === 65535) throw new RangeError("evidence: more than 65,535 feeds");
    this.feeds.set(feed, this.feeds.size);
    return this.feeds.size - 1;
  }
}

/** Returns an entry's JSON up to its network or domain. */
function entryText({ span: _, ...entry }: EvidenceText): string {
  const { feed, label, effect, flags, fields, weight, provider, first_seen, why } = entry;
  const ordered = { feed, label, effect, flags, fields, weight, provider, first_seen, why };
  const text = JSON.stringify(ordered).slice(0, -1);
  if (text.length > MAX_ENTRY_TEXT) throw new RangeError(`evidence: an entry of ${text.length} characters`);
  if (/[^ -~]/.test(text)) throw new RangeError(`evidence: not ASCII: ${text}`);
  return text;
}

/**
 * Sorts entries by effect (sets, removes, fills, label), keeping the input order within each effect. If there are too
 * many entries, it keeps at least one for each effect on each flag, so that every flag has evidence.
 */
function topEvidence(entries: readonly EvidenceText[]): readonly EvidenceText[] {
  const byEffect = (a: EvidenceText, b: EvidenceText) =>
    EFFECTS.indexOf(a.effect) - EFFECTS.indexOf(b.effect);
  const sorted = entries.toSorted(byEffect);
  if (sorted.length <= MAX_EVIDENCE_ENTRIES) return sorted;
  const seen = new Set<string>();
  const first = (entry: EvidenceText) => {
    const effects = (entry.flags ?? []).map((flag) => `${entry.effect} ${flag}`);
    const isNew = effects.some((effect) => !seen.has(effect));
    for (const effect of effects) seen.add(effect);
    return isNew;
  };
  const certain = sorted.filter(first);
  const others = sorted.filter((entry) => !certain.includes(entry));
  return [...certain, ...others].slice(0, MAX_EVIDENCE_ENTRIES).toSorted(byEffect);
}
