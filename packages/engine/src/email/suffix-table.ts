// suffix-table.ts: the Public Suffix List as a hash table of names, for a host that is read from its end.
//
// in   the list as tldts keeps it, and names that are left to others; then the hashes of a host and its parents
// out  where the registrable domain begins, or that others must say
// err  Error when tldts keeps its list in another way than this reads: its version is fixed in package.json
// cost a host about 20 ns, where tldts takes 170; once 6 ms, and 512 KB
// note tldts says what a suffix is: this holds its rules, and a test compares the two at every rule, above and
//      below. Left to it: exceptions to rules, unknown endings, and hosts that are suffixes themselves.

import {
  edgeChild,
  edgeLength,
  edgeStart,
  exceptionsRoot,
  labelText,
  nodeFlags,
  rulesRoot,
} from "tldts/dist/cjs/src/data/trie.js";
import { hashDomain, LOWER_CASE } from "../segment/domain-hash.ts";

/** What is known of a name; the numbers are bits, and each name has one at least. A rule ends here. */
const RULE = 1;
/** Rules go on below this name. */
const PARENT = 2;
/** A rule with "*" covers each name right below this one that is not in the table. */
const WILD = 4;
/** Not for this table to decide. */
const ASK = 8;
const FLAG_BITS = 4;

/** The list has 11,200 names: two thirds of the slots are empty, for most names that are asked about are not there. */
const SLOTS = 1 << 15;
/** They take 161,000 bytes. */
const NAME_BYTES = 1 << 18;

/** Rules stand in the list in Unicode, too: no host does. */
const IN_A_LABELS = /^[a-z0-9-]+$/;

export class SuffixTable {
  /** For each slot the hash, then where the name begins and its flags; 0: empty. */
  private readonly slots = new Int32Array(2 * SLOTS);
  /** For each name its length, then itself. */
  private readonly names = new Uint8Array(NAME_BYTES);
  private namesEnd = 0;
  private count = 0;

  /** @param leftAlone names that it is not to decide, nor what is below them */
  constructor(leftAlone: Iterable<string>) {
    const labels = readLabels();
    this.addBelow(rulesRoot, "", labels);
    this.leaveExceptions(exceptionsRoot, "", labels);
    for (const name of leftAlone) this.leave(name);
  }

  /**
   * Which label a host's registrable domain begins with.
   * @param text ends with the host, which may have capitals
   * @param starts where each label begins, the last label first
   * @param hashes of the names that begin there
   * @returns its number; -1 when tldts is to be asked
   */
  registrableLabel(text: string, starts: Int32Array, hashes: Int32Array, count: number): number {
    let above = PARENT;
    let suffix = -1;
    for (let i = 0; i < count && (above & PARENT) !== 0; i++) {
      const flags = this.slots[this.slotOf(hashes[i]!, text, starts[i]!) + 1]!;
      if ((flags & ASK) !== 0) return -1;
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

  /** The exceptions below a node of theirs. */
  private leaveExceptions(node: number, above: string, labels: readonly string[]): void {
    for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
      const name = above === "" ? labels[edge]! : `${labels[edge]}.${above}`;
      if (nodeFlags[edgeChild[edge]!] !== 0) this.leave(name);
      this.leaveExceptions(edgeChild[edge]!, name, labels);
    }
  }

  /** A name, and what is below it, is for others to decide. */
  private leave(name: string): void {
    this.put(name, ASK);
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      const parent = name.slice(dot + 1);
      const isThere = this.slots[this.slotOf(hashDomain(parent, 0) | 0, parent, 0) + 1] !== 0;
      this.put(parent, isThere ? PARENT : ASK);
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

/** What the list says of the name of a node. */
function flagsOf(node: number, labels: readonly string[]): number {
  let flags = nodeFlags[node] === 0 ? 0 : RULE;
  for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
    flags |= PARENT;
    if (labels[edge] !== "*") continue;
    const child = edgeChild[edge]!;
    const isRule = nodeFlags[child] !== 0 && edgeStart[child] === edgeStart[child + 1];
    flags |= isRule ? WILD : ASK;
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
    throw new Error(`tldts keeps its list in another way: its labels take ${labelText.length}, want ${end}`);
  return labels;
}
