// compiled.ts: compiles all active overrides, and finds those that apply to an address or email address.
//
// Cost: one compilation each time the overrides change (docs/overrides.md lists durations). Looking up an address takes
// one directory read, and rarely a binary search. Looking up a host takes one Map lookup per label.
//
// For each flag the closest override wins: the longest prefix, the email address before the domain, and the domain
// before its parent. Expired overrides are skipped, so the next closest one applies.

import type { IpAddress, Prefix, UnwrappedAddress } from "../address/ip.ts";
import { normalMailbox } from "../email/mailbox.ts";
import { PrefixTable } from "../segment/prefix-table.ts";
import { append } from "../text/lists.ts";
import { isInForce, type Override, type OverrideFlag, placeOf } from "./model.ts";

/** An override, and the network or domain in which it applies. */
export interface PlacedOverride {
  readonly override: Override;
  readonly network?: Prefix;
  readonly domain?: string;
}

/** What the overrides decide for one address or email address. */
export class OverrideVerdict {
  /** Each forced flag with its value. */
  readonly flags: ReadonlyMap<OverrideFlag, boolean>;
  /** The overrides that have an effect, closest first. */
  readonly applied: readonly PlacedOverride[];

  /** @param closestFirst the overrides that apply; the first one for each flag decides */
  constructor(closestFirst: readonly PlacedOverride[]) {
    const flags = new Map<OverrideFlag, boolean>();
    this.applied = closestFirst.filter(({ override: { flag, verdict } }) => {
      if (flags.has(flag)) return false;
      flags.set(flag, verdict);
      return true;
    });
    this.flags = flags;
  }
}

/** Overrides that apply together, closest first. Their verdict changes only when one of them expires. */
class Region {
  readonly all: readonly PlacedOverride[];
  private verdict: OverrideVerdict | undefined;
  /** The verdict is valid from `since` until just before `until`, both in epoch ms. */
  private since = Number.POSITIVE_INFINITY;
  private until = Number.NEGATIVE_INFINITY;

  constructor(all: readonly PlacedOverride[]) {
    this.all = all;
  }

  at(now: number): OverrideVerdict | undefined {
    if (now < this.since || now >= this.until) this.judge(now);
    return this.verdict;
  }

  private judge(now: number): void {
    this.since = Number.NEGATIVE_INFINITY;
    this.until = Number.POSITIVE_INFINITY;
    const inForce = this.all.filter(({ override: { expiresAt = Number.POSITIVE_INFINITY } }) => {
      if (expiresAt > now) this.until = Math.min(this.until, expiresAt);
      else this.since = Math.max(this.since, expiresAt);
      return expiresAt > now;
    });
    this.verdict = inForce.length === 0 ? undefined : new OverrideVerdict(inForce);
  }
}

export class CompiledOverrides {
  /** Whether any override is about a domain or an email address. */
  readonly hasEmail: boolean;
  private readonly sha256: (text: string) => string;
  private readonly networks: PrefixTable<PlacedOverride, Region>;
  private readonly ofDomain = new Map<string, PlacedOverride[]>();
  private readonly ofMailbox = new Map<string, PlacedOverride[]>();

  constructor(all: readonly Override[], sha256: (text: string) => string) {
    this.sha256 = sha256;
    const networks: (readonly [Prefix, PlacedOverride])[] = [];
    for (const override of all) {
      const { prefixes = [], domain, mailbox } = placeOf(override);
      for (const network of prefixes) networks.push([network, { override, network }]);
      if (domain !== undefined) append(this.ofDomain, domain, { override, domain });
      if (mailbox !== undefined) append(this.ofMailbox, mailbox, { override });
    }
    this.networks = new PrefixTable(networks, (closestFirst) => new Region(closestFirst));
    this.hasEmail = this.ofDomain.size + this.ofMailbox.size > 0;
  }

  /** @param now epoch ms */
  matchAddress(address: UnwrappedAddress, now: number): OverrideVerdict | undefined {
    return this.networks.find(address)?.at(now);
  }

  /** Returns whether there is an override about this address, even if it has expired. */
  covers(address: UnwrappedAddress): boolean {
    return this.networks.find(address) !== undefined;
  }

  /** Returns the prefix length of the largest network around an address in which the same overrides apply. */
  networkBits(address: IpAddress): number {
    return this.networks.networkBits(address);
  }

  /** Returns the overrides about this network, about a part of it, or about a network that contains it. */
  around(network: Prefix): ReadonlySet<Override> {
    const placed = Array.from(this.networks.findWithin(network), ({ all }) => all).flat();
    return new Set(placed.map(({ override }) => override));
  }

  /** The domains that have an override. */
  get domains(): Iterable<string> {
    return this.ofDomain.keys();
  }

  /**
   * @param host the host of the email address, as lower-case A-labels
   * @param now epoch ms
   */
  matchEmail(text: string, host: string, now: number): OverrideVerdict | undefined {
    let found = NO_OVERRIDES;
    if (this.ofMailbox.size > 0) found = this.ofMailbox.get(this.sha256(normalMailbox(text, host))) ?? found;
    for (let at = 0, dot = 0; dot >= 0 && this.ofDomain.size > 0; at = dot + 1) {
      const own = this.ofDomain.get(host.slice(at));
      if (own !== undefined) found = [...found, ...own];
      dot = host.indexOf(".", at);
    }
    if (found.length === 0) return undefined;
    const inForce = found.filter(({ override }) => isInForce(override, now));
    return inForce.length === 0 ? undefined : new OverrideVerdict(inForce);
  }
}

const NO_OVERRIDES: readonly PlacedOverride[] = [];

/** The active overrides. */
export class Overrides {
  readonly all: readonly Override[];
  readonly isEmpty: boolean;
  private readonly sha256: (text: string) => string;
  private ready: CompiledOverrides | undefined;

  static readonly NONE = new Overrides([], () => "");

  /** @param sha256 returns a text's SHA-256 in lower-case hex; called only if an override is about an email address */
  constructor(all: readonly Override[], sha256: (text: string) => string) {
    this.all = all;
    this.isEmpty = all.length === 0;
    this.sha256 = sha256;
  }

  /** The overrides, ready for lookups. They are compiled when they are first read. */
  get compiled(): CompiledOverrides {
    this.ready ??= new CompiledOverrides(this.all, this.sha256);
    return this.ready;
  }
}
