// size.ts: how much one host wants to hold of a key's rate and quota. Pure.
//
// in   what was used and refused since the last look, what is held, how many hosts there are
// out  what to ask for, or to give back
// note A key that is used holds three exchanges' worth, so that one that is late costs nothing. One that is not used keeps a
//      small reserve for its next request, and gives that back, too, when another host lacks it.

/** From exchange to exchange. */
export const EXCHANGE_MS = 250;
const EXCHANGES_HELD = 3;
/** A key that was not used for so many looks keeps its reserve only. */
const IDLE_LOOKS = 8;

export interface Demand {
  /** Wanted in one look: a mean that follows a rise at once, and a fall slowly. */
  perLook: number;
  idleLooks: number;
}

export const noDemand = (): Demand => ({ perLook: 0, idleLooks: IDLE_LOOKS });

/** Adds the numbers of one check. */
export function follow(demand: Demand, used: number, refused: number): void {
  const wanted = used + refused;
  demand.perLook = Math.max(wanted, 0.7 * demand.perLook + 0.3 * wanted);
  demand.idleLooks = wanted > 0 ? 0 : demand.idleLooks + 1;
  if (demand.idleLooks >= IDLE_LOOKS) demand.perLook = 0;
}

export interface Wanted {
  readonly held: number;
  readonly demand: Demand;
  /** At most so much is held. */
  readonly most: number;
  readonly reserve: number;
  /** Does another host lack it? */
  readonly isShort: boolean;
}

/** @returns how much more is wanted; below 0: how much can be given back */
export function wantedOf({ held, demand, most, reserve, isShort }: Wanted): number {
  const isIdle = demand.idleLooks >= IDLE_LOOKS;
  const needed = Math.ceil(EXCHANGES_HELD * demand.perLook);
  const target = Math.min(most, isIdle && isShort ? 0 : Math.max(needed, isShort ? 1 : reserve));
  if (held < target) return Math.ceil(target - held);
  return held > 2 * target || (isShort && held > target) ? Math.ceil(target - held) : 0;
}

/** Would it not last until the look after the next? */
export function isLowOn({ held, demand, most, reserve }: Wanted): boolean {
  const target = Math.min(most, Math.max(EXCHANGES_HELD * demand.perLook, reserve));
  return held <= target / 2;
}

/** For the first request after a pause: an eighth of the burst for all hosts together, but one at least. */
export const rateReserve = (burst: number, hosts: number) => Math.max(1, Math.floor(burst / (8 * hosts)));

/** A two-hundredth of the quota for all hosts together, but one at least. */
export const quotaReserve = (quota: number, hosts: number) => Math.max(1, Math.floor(quota / (200 * hosts)));

/**
 * What a host that is alone gets after some time without the database.
 * @param heldBefore at the beginning of that time: when it used what is missing is not known
 * @param most as the group has set aside for it
 */
export function refillAlone(heldBefore: number, ms: number, share: number, most: number): number {
  return Math.max(0, Math.min(most - heldBefore, (share * ms) / 1_000));
}
