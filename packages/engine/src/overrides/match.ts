// match.ts: which overrides apply to an address, a host or an email address.
//
// in   all overrides in force; then one address, or one email address and its host, and the time
// out  a verdict: forced flags, and the overrides behind them; undefined when none applies
// cost nothing where `hasAddresses` or `hasEmail` is false: callers check them first. Otherwise one Map lookup for each
//      prefix length, and for each label of a host, that occurs (docs/overrides.md)
//
// For each flag the closest override wins: the longest prefix, the email address before the domain, the domain before
// its parent. Expired ones are skipped, so that the next closest applies.

import { type IpAddress, parsePrefix, type UnwrappedAddress } from "../address/ip.ts";
import { normalMailbox, type Override, type OverrideFlag } from "./model.ts";

/** What overrides decide about one address or email address. */
export class OverrideVerdict {
  /** The flags that are forced, and to which value. */
  readonly flags = new Map<OverrideFlag, boolean>();
  /** The overrides that have an effect, closest first. */
  readonly applied: Override[] = [];

  /** Applies one override, unless a closer one decides the same. */
  add(override: Override): void {
    if (this.flags.has(override.flag)) return;
    this.flags.set(override.flag, override.verdict);
    this.applied.push(override);
  }
}

/** The overrides of networks of one family and prefix length, by their first bits. */
interface Level {
  readonly bits: number;
  readonly entries: Map<number | string, Override[]>;
}

export class Overrides {
  readonly all: readonly Override[];
  /** Is any of them about addresses or networks? */
  readonly hasAddresses: boolean;
  /** Is any of them about domains or email addresses? */
  readonly hasEmail: boolean;
  private readonly sha256: (text: string) => string;
  /** Longest prefix first. */
  private readonly levels: Readonly<Record<4 | 6, Level[]>> = { 4: [], 6: [] };
  private readonly domains = new Map<string, Override[]>();
  private readonly hashes = new Map<string, Override[]>();

  static readonly NONE = new Overrides([], () => "");

  /** @param sha256 of a text, in lower-case hex; called only when an override is about an email address */
  constructor(all: readonly Override[], sha256: (text: string) => string) {
    this.all = all;
    this.sha256 = sha256;
    for (const override of all) {
      const { kind, value } = override;
      if (kind === "domain") append(this.domains, value, override);
      else if (kind === "email_hash") append(this.hashes, value, override);
      else this.addNetwork(override);
    }
    for (const levels of [this.levels[4], this.levels[6]]) levels.sort((a, b) => b.bits - a.bits);
    this.hasAddresses = this.levels[4].length + this.levels[6].length > 0;
    this.hasEmail = this.hashes.size + this.domains.size > 0;
  }

  private addNetwork(override: Override): void {
    const prefix = parsePrefix(override.value);
    if (prefix === undefined) return; // a row changed by hand: it matches nothing
    const { address, bits } = prefix;
    const levels = this.levels[address.family];
    let level = levels.find((one) => one.bits === bits);
    if (level === undefined) {
      level = { bits, entries: new Map() };
      levels.push(level);
    }
    append(level.entries, keyOf(address, bits), override);
  }

  /** @param now epoch ms */
  matchAddress(address: UnwrappedAddress, now: number): OverrideVerdict | undefined {
    let verdict: OverrideVerdict | undefined;
    for (const { bits, entries } of this.levels[address.family]) {
      verdict = collect(entries.get(keyOf(address, bits)), verdict, now);
    }
    return verdict;
  }

  /**
   * @param host of the email address, as lower-case A-labels
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

/** The first `bits` bits: of IPv4 as a number, of IPv6 as text. */
function keyOf({ family, words }: IpAddress, bits: number): number | string {
  if (family === 4) return bits === 0 ? 0 : words[0]! >>> (32 - bits);
  let key = "";
  for (let word = 0, left = bits; left > 0; word++, left -= 32) {
    key += `${left >= 32 ? words[word]! : words[word]! >>> (32 - left)} `;
  }
  return key;
}
