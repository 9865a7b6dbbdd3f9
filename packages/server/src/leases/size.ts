// size.ts: determines how much of a key's rate and quota one host should hold. All functions are pure.
//
// in   lookups used and refused since the last check, lookups held, and the number of hosts
// out  how much to request or to return
// note For a key in use, a host holds enough for three checks, so that a late exchange does no harm. For an idle
//      key, the host keeps a small reserve for the next request, and returns even that reserve if another host needs
//      it.

/** Milliseconds between two checks. An exchange follows after one to three checks (lease-client.ts). */
export const EXCHANGE_MS = 250;
const EXCHANGES_HELD = 3;
/** A key that was idle for this many checks keeps only its reserve. */
const IDLE_LOOKS = 8;

export interface Demand {
  /** Lookups requested per check: a mean that follows an increase at once, and a decrease slowly. */
  perLook: number;
  idleLooks: number;
}

export const noDemand = (): Demand => ({ perLook: 0, idleLooks: IDLE_LOOKS });

/** Adds the counts of one check. */
export function follow(demand: Demand, used: number, refused: number): void {
  const wanted = used + refused;
  demand.perLook = Math.max(wanted, 0.7 * demand.perLook + 0.3 * wanted);
  demand.idleLooks = wanted > 0 ? 0 : demand.idleLooks + 1;
  if (demand.idleLooks >= IDLE_LOOKS) demand.perLook = 0;
}

export interface Wanted {
  readonly held: number;
  readonly demand: Demand;
  /** The maximum that a host may hold. */
  readonly most: number;
  readonly reserve: number;
  /** Whether a host, possibly this one, ran short of lookups for this key in the last few seconds. */
  readonly isShort: boolean;
}

/** @returns how many more lookups are needed; negative if that many can be returned */
export function wantedOf({ held, demand, most, reserve, isShort }: Wanted): number {
  const isIdle = demand.idleLooks >= IDLE_LOOKS;
  const needed = Math.ceil(EXCHANGES_HELD * demand.perLook);
  const target = Math.min(most, isIdle && isShort ? 0 : Math.max(needed, isShort ? 1 : reserve));
  if (held < target) return Math.ceil(target - held);
  return held > 2 * target || (isShort && held > target) ? Math.ceil(target - held) : 0;
}

/** Returns true if at most half of the target is left. For a key in use, that lasts for about one more check. */
export function isLowOn({ held, demand, most, reserve }: Wanted): boolean {
  const target = Math.min(most, Math.max(EXCHANGES_HELD * demand.perLook, reserve));
  return held <= target / 2;
}

/**
 * Returns the reserve for the first request after a pause: an eighth of the burst for all hosts together, but at least
 * one token per host.
 */
export const rateReserve = (burst: number, hosts: number) => Math.max(1, Math.floor(burst / (8 * hosts)));

/** Returns the reserve of the quota: 0.5 % of the quota for all hosts together, but at least one lookup per host. */
export const quotaReserve = (quota: number, hosts: number) => Math.max(1, Math.floor(quota / (200 * hosts)));

/**
 * Returns how many tokens a host gains while it is cut off from the database.
 * @param heldBefore tokens held at the start of that period, because it is unknown when the host used the missing
 *   tokens
 * @param share the host's share of the rate, tokens per second
 * @param most the level that the group has set aside for the host
 */
export function refillAlone(heldBefore: number, ms: number, share: number, most: number): number {
  return Math.max(0, Math.min(most - heldBefore, (share * ms) / 1_000));
}
