// suffix-table.ts: the Public Suffix List as a hash table of names, for a host that is read from its end.
//
// in   the rules of tldts, and names to exclude; then the hashes of a host and its parents
// out  where the registrable domain begins, or -1: tldts decides
// err  Error when tldts stores its list in another way than expected
// cost a host about 20 ns, where `parse` of tldts takes 130-200; once 6 ms, and 512 KB
// note tldts defines what a suffix is: a test compares the two at every rule, above and below. Left to it: exceptions
//      to rules, unknown endings, and hosts that are suffixes themselves.

// A private path: the public API parses one host at a time, slower than the whole email verdict (128 ns), and cannot
// list its rules. The version is pinned in package.json; suffix-table.test.ts fails when the module moves or changes.
import {
  edgeChild,
  edgeLength,
  edgeStart,
  exceptionsRoot,
  labelText,
  nodeFlags,
  rulesRoot,
} from "tldts/dist/cjs/src/data/trie.js";
import { hashDomain, LOWER_CASE } from "./domain-hash.ts";

/** What is known of a name; the numbers are bits, and each name has one at least. A rule ends here. */
const RULE = 1;
/** Rules go on below this name. */
const PARENT = 2;
/** A rule with "*" covers each name right below this one that is not in the table. */
const WILD = 4;
/** tldts decides. */
const EXCLUDED = 8;
const FLAG_BITS = 4;

/** The list has 11,200 names: two thirds of the slots are empty, because most lookups are of names that it lacks. */
const SLOTS = 1 << 15;
/** 161,000 are in use. */
const NAME_BYTES = 1 << 18;

/** Rules are in the list in Unicode, too; hosts are not. */
const IN_A_LABELS = /^[a-z0-9-]+$/;

export class SuffixTable {
  /** For each slot the hash, then where the name begins and its flags; 0: empty. */
  private readonly slots = new Int32Array(2 * SLOTS);
  /** For each name its length, then itself. */
  private readonly names = new Uint8Array(NAME_BYTES);
  private namesEnd = 0;
  private count = 0;

  /** @param excluded names that tldts decides, with all below them */
  constructor(excluded: Iterable<string>) {
    const labels = readLabels();
    this.addBelow(rulesRoot, "", labels);
    this.excludeExceptions(exceptionsRoot, "", labels);
    for (const name of excluded) this.exclude(name);
  }

  /**
   * Which label a host's registrable domain begins with.
   * @param text ends with the host, which may have capitals
   * @param starts where each label begins, the last label first
   * @param hashes of the names that begin there
   * @returns its number; -1 when tldts decides
   */
  registrableLabel(text: string, starts: Int32Array, hashes: Int32Array, count: number): number {
    let above = PARENT;
    let suffix = -1;
    for (let i = 0; i < count && (above & PARENT) !== 0; i++) {
      const flags = this.slots[this.slotOf(hashes[i]!, text, starts[i]!) + 1]!;
      if ((flags & EXCLUDED) !== 0) return -1;
      if ((flags & RULE) !== 0 || (flags === 0 && (above & WILD) !== 0)) suffix = i;
      above = flags;
    }
    return suffix >= 0 && suffix + 1 < count ? suffix + 1 : -1;
  }

  /** The slot of the name that `text` is from `start` on, or the empty one that ends the search. */
  private slotOf(hash: number, text: string, start: number): number {
    const slots = this.slots;
    let at = 2 * (hash & (SLOTS - 1));
    for (;;) {
      const entry = slots[at + 1]!;
      if (entry === 0 || (slots[at] === hash && this.isNamed(entry >>> FLAG_BITS, text, start))) return at;
      at = (at + 2) & (2 * SLOTS - 1);
    }
  }

  private isNamed(at: number, text: string, start: number): boolean {
    const names = this.names;
    const length = text.length - start;
    if (names[at] !== length) return false;
    for (let i = 0; i < length; i++) {
      if (names[at + 1 + i] !== (text.charCodeAt(start + i) | LOWER_CASE)) return false;
    }
    return true;
  }

  /** The rules below a node of the list, whose name is `above`. */
  private addBelow(node: number, above: string, labels: readonly string[]): void {
    for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
      const label = labels[edge]!;
      if (!IN_A_LABELS.test(label)) continue;
      const name = above === "" ? label : `${label}.${above}`;
      const child = edgeChild[edge]!;
      this.put(name, flagsOf(child, labels));
      this.addBelow(child, name, labels);
    }
  }

  /** The exceptions to rules below a node of theirs. */
  private excludeExceptions(node: number, above: string, labels: readonly string[]): void {
    for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
      const name = above === "" ? labels[edge]! : `${labels[edge]}.${above}`;
      if (nodeFlags[edgeChild[edge]!] !== 0) this.exclude(name);
      this.excludeExceptions(edgeChild[edge]!, name, labels);
    }
  }

  /** Leaves a name, and all below it, to tldts. */
  private exclude(name: string): void {
    this.put(name, EXCLUDED);
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      const parent = name.slice(dot + 1);
      const isKnown = this.slots[this.slotOf(hashDomain(parent, 0) | 0, parent, 0) + 1] !== 0;
      this.put(parent, isKnown ? PARENT : EXCLUDED);
    }
  }

  private put(name: string, flags: number): void {
    const hash = hashDomain(name, 0) | 0;
    const at = this.slotOf(hash, name, 0);
    if (this.slots[at + 1] === 0) {
      if (++this.count > SLOTS / 2 || this.namesEnd + name.length >= NAME_BYTES)
        throw new Error(`the Public Suffix List has outgrown its table at ${name}: enlarge it`);
      this.slots[at] = hash;
      this.slots[at + 1] = this.namesEnd << FLAG_BITS;
      this.names[this.namesEnd++] = name.length;
      for (let i = 0; i < name.length; i++) this.names[this.namesEnd++] = name.charCodeAt(i);
    }
    this.slots[at + 1]! |= flags;
  }
}

/** What is known of the name of a node. */
function flagsOf(node: number, labels: readonly string[]): number {
  let flags = nodeFlags[node] === 0 ? 0 : RULE;
  for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
    flags |= PARENT;
    if (labels[edge] !== "*") continue;
    const child = edgeChild[edge]!;
    const isRule = nodeFlags[child] !== 0 && edgeStart[child] === edgeStart[child + 1];
    flags |= isRule ? WILD : EXCLUDED;
  }
  return flags;
}

function readLabels(): string[] {
  let end = 0;
  const labels = Array.from(edgeLength, (length) => {
    end += length;
    return labelText.slice(end - length, end);
  });
  if (end !== labelText.length || edgeChild.length !== labels.length)
    throw new Error(`tldts stores its list in another way: its labels take ${labelText.length}, want ${end}`);
  return labels;
}
