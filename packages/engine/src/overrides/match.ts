// match.ts: which overrides hold for an address, a host or an e-mail address.
//
// in   all overrides in force; then one address, or host and hash, and the time
// out  a verdict: the flags that are forced, the feeds that are muted, and the overrides that say so; undefined
//      when nothing was said
// err  none
// cost nothing for an address when no override is about addresses, nothing for e-mail when none is about e-mail:
//      whoever asks looks at `hasAddresses` and `hasEmail` first. Otherwise one Map look-up for each prefix length,
//      and for each label of a host, that occurs (bench/overrides.ts)
//
// For each flag the closest override wins: the longest prefix, the e-mail address before the domain, the domain
// before its parent. One that has expired is passed over, so that the next closest speaks. All mutes hold together.

import { type IpAddress, parsePrefix, type UnwrappedAddress } from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import { ADDRESS_FLAGS, normalMailbox, type Override, type OverrideFlag } from "./model.ts";

/** What overrides say about one address or e-mail address. */
export class OverrideVerdict {
  /** The flags that are forced, and how. */
  readonly flags = new Map<OverrideFlag, boolean>();
  /** Ids of feeds that are not heard. */
  readonly muted = new Set<string>();
  /** The overrides that have an effect, closest first. */
  readonly applied: Override[] = [];

  /** Counts one override, unless a closer one has spoken. */
  add(override: Override): void {
    const { effect } = override;
    if (effect.type === "mute") {
      if (this.muted.has(effect.feed)) return;
      this.muted.add(effect.feed);
    } else {
      if (this.flags.has(effect.flag)) return;
      this.flags.set(effect.flag, effect.verdict);
    }
    this.applied.push(override);
  }
}

/** The overrides of networks of one family and length, by their first bits. */
interface Level<Key> {
  readonly bits: number;
  readonly entries: Map<Key, Override[]>;
}

export class Overrides {
  /** All of them, as they were given. */
  readonly all: readonly Override[];
  /** Is any of them about addresses or networks? */
  readonly hasAddresses: boolean;
  /** Is any of them about domains or e-mail addresses? */
  readonly hasEmail: boolean;
  /** Hashes an email address in its normal form; called only when an override is about one. */
  private readonly sha256: (text: string) => string;
  private readonly v4: readonly Level<number>[];
  private readonly v6: readonly Level<string>[];
  private readonly domains = new Map<string, Override[]>();
  private readonly hashes = new Map<string, Override[]>();

  /** Nothing to hash, so nothing hashes. */
  static readonly NONE = new Overrides([], () => "");

  /** @param sha256 of a text, in lower-case hex */
  constructor(all: readonly Override[], sha256: (text: string) => string) {
    this.all = all;
    this.sha256 = sha256;
    const v4 = new Map<number, Map<number, Override[]>>();
    const v6 = new Map<number, Map<string, Override[]>>();
    for (const override of all) {
      const { kind, value } = override;
      if (kind === "domain") append(this.domains, value, override);
      else if (kind === "email_hash") append(this.hashes, value, override);
      else {
        const prefix = parsePrefix(value);
        if (prefix === undefined) continue; // a row changed by hand: it matches nothing
        const { address, bits } = prefix;
        if (address.family === 4) append(levelOf(v4, bits), key4(address, bits), override);
        else append(levelOf(v6, bits), key6(address, bits), override);
      }
    }
    this.v4 = longestFirst(v4);
    this.v6 = longestFirst(v6);
    this.hasAddresses = v4.size + v6.size > 0;
    this.hasEmail = this.hashes.size + this.domains.size > 0;
  }

  /** What holds for an address, IPv4 unwrapped. @param now epoch ms */
  matchAddress(address: UnwrappedAddress, now: number): OverrideVerdict | undefined {
    let verdict: OverrideVerdict | undefined;
    if (address.family === 4) {
      for (const { bits, entries } of this.v4) {
        verdict = collect(entries.get(key4(address, bits)), verdict, now);
      }
    } else {
      for (const { bits, entries } of this.v6) {
        verdict = collect(entries.get(key6(address, bits)), verdict, now);
      }
    }
    return verdict;
  }

  /**
   * What holds for an email address.
   * @param host of the address, as lower-case A-labels
   * @param now epoch ms
   */
  matchEmail(text: string, host: string, now: number): OverrideVerdict | undefined {
    let verdict: OverrideVerdict | undefined;
    if (this.hashes.size > 0) {
      verdict = collect(this.hashes.get(this.sha256(normalMailbox(text, host))), undefined, now);
    }
    if (this.domains.size === 0) return verdict;
    for (let at = 0; ; ) {
      verdict = collect(this.domains.get(host.slice(at)), verdict, now);
      const dot = host.indexOf(".", at);
      if (dot < 0) return verdict;
      at = dot + 1;
    }
  }
}

function collect(
  found: readonly Override[] | undefined,
  verdict: OverrideVerdict | undefined,
  now: number,
): OverrideVerdict | undefined {
  if (found === undefined) return verdict;
  let into = verdict;
  for (const override of found) {
    if (override.expiresAt !== undefined && override.expiresAt <= now) continue;
    into ??= new OverrideVerdict();
    into.add(override);
  }
  return into;
}

function append<Key>(map: Map<Key, Override[]>, key: Key, override: Override): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [override]);
  else list.push(override);
}

function levelOf<Key>(levels: Map<number, Map<Key, Override[]>>, bits: number): Map<Key, Override[]> {
  let level = levels.get(bits);
  if (level === undefined) {
    level = new Map();
    levels.set(bits, level);
  }
  return level;
}

function longestFirst<Key>(levels: Map<number, Map<Key, Override[]>>): Level<Key>[] {
  return Array.from(levels, ([bits, entries]) => ({ bits, entries })).sort((a, b) => b.bits - a.bits);
}

/** The first `bits` bits, as a number. */
function key4(address: IpAddress, bits: number): number {
  return bits === 0 ? 0 : address.words[0]! >>> (32 - bits);
}

/** The first `bits` bits, as text. */
function key6(address: IpAddress, bits: number): string {
  let key = "";
  for (let word = 0, left = bits; left > 0; word++, left -= 32) {
    key += `${left >= 32 ? address.words[word]! : address.words[word]! >>> (32 - left)} `;
  }
  return key;
}

/** The eight answers about an address, by the bits of its flags: the first flag is 1, the next 2. */
export const REPUTATION_ANSWERS: readonly Uint8Array[] = Array.from({ length: 8 }, (_, bits) =>
  ascii(JSON.stringify(Object.fromEntries(ADDRESS_FLAGS.map((flag, i) => [flag, (bits & (1 << i)) !== 0])))),
);

const FLAG_BITS = new Map<OverrideFlag, number>(ADDRESS_FLAGS.map((flag, i) => [flag, 1 << i]));

/** The bits of flags, as {@link REPUTATION_ANSWERS} counts them. */
export function bitsOf(flags: Iterable<OverrideFlag>): number {
  let bits = 0;
  for (const flag of flags) bits |= FLAG_BITS.get(flag) ?? 0;
  return bits;
}

const T = 0x74;

/** The bits of one of the eight answers, which begins at `start` and may go on after its flags. */
export function bitsOfAnswer(answer: Uint8Array, start = 0): number {
  let bits = 0;
  let at = start;
  for (let i = 0; i < ADDRESS_FLAGS.length; i++) {
    at += ADDRESS_FLAGS[i]!.length + 4; // `{"flag":` or `,"flag":`
    const isSet = answer[at] === T;
    if (isSet) bits |= 1 << i;
    at += isSet ? 4 : 5;
  }
  return bits;
}

/** Flags with a verdict's forced ones in their place. */
export function forcedBits(bits: number, verdict: OverrideVerdict): number {
  let result = bits;
  for (const [flag, value] of verdict.flags) {
    const bit = FLAG_BITS.get(flag) ?? 0;
    result = value ? result | bit : result & ~bit;
  }
  return result;
}
