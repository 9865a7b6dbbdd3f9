// demand.ts: sends paced lookups to several hosts at the same time, and checks whether the allowed lookups keep a
// limit.
//
// The time of a host's decision is known only to lie between sending and receiving. A window counts a lookup
// only if both times are in the window. If a window then exceeds the limit, the limit was certainly broken.

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Milliseconds since the load began. */
export interface Allowed {
  readonly sent: number;
  readonly received: number;
}

export interface Loaded {
  readonly seconds: number;
  readonly allowed: readonly Allowed[];
  readonly refused: number;
  /** Lookups with another status than 200 and 429, or without an answer. */
  readonly failed: number;
  /** Number of lookups sent, by second and host. */
  readonly demand: readonly (readonly number[])[];
}

export interface Schedule {
  readonly seconds: number;
  /** Lookups per second at each host, as a function of the second. */
  readonly rates: (second: number) => readonly number[];
  /**
   * Sends one lookup.
   * @returns its status
   */
  readonly lookUp: (host: number) => Promise<number>;
  /** Called at the start of each second. */
  readonly onSecond?: (second: number) => void;
}

const TICK_MS = 5;
/** Maximum lookups in flight at a host that does not answer; further lookups are not sent. */
const IN_FLIGHT = 48;

export async function load({ seconds, rates, lookUp, onSecond }: Schedule): Promise<Loaded> {
  const allowed: Allowed[] = [];
  const demand: number[][] = [];
  const owed: number[] = [];
  const inFlight: number[] = [];
  const all = new Set<Promise<void>>();
  let [refused, failed] = [0, 0];
  const start = performance.now();
  const one = async (host: number) => {
    const sent = performance.now() - start;
    inFlight[host] = (inFlight[host] ?? 0) + 1;
    const status = await lookUp(host).catch(() => 0);
    inFlight[host]!--;
    if (status === 200) allowed.push({ sent, received: performance.now() - start });
    else if (status === 429) refused++;
    else failed++;
  };
  for (let before = 0; before < seconds * 1000; await Bun.sleep(TICK_MS)) {
    const now = Math.min(performance.now() - start, seconds * 1000);
    const second = Math.min(Math.floor(now / 1000), seconds - 1);
    const wanted = rates(second);
    while (demand.length <= second) {
      demand.push(wanted.map(() => 0));
      onSecond?.(demand.length - 1);
    }
    for (const [host, rate] of wanted.entries()) {
      owed[host] = (owed[host] ?? 0) + (rate * (now - before)) / 1000;
      for (; owed[host]! >= 1; owed[host]!--) {
        if ((inFlight[host] ?? 0) >= IN_FLIGHT) continue;
        demand[second]![host]!++;
        const request = one(host).finally(() => all.delete(request));
        all.add(request);
      }
    }
    before = now;
  }
  await Promise.all(all);
  return { seconds, allowed, refused, failed, demand };
}

const STEP_MS = 10;

/**
 * Returns the maximum number of lookups above `rate` times the window's length, over all windows. If the
 * limit was kept, that is at most the burst.
 */
export function mostAboveRate(allowed: readonly Allowed[], rate: number): number {
  const last = Math.max(0, ...allowed.map(({ received }) => received));
  const bins = Math.ceil(last / STEP_MS) + 1;
  const endsBySent: number[][] = Array.from({ length: bins }, () => []);
  for (const { sent, received } of allowed)
    endsBySent[Math.floor(sent / STEP_MS)]!.push(Math.ceil(received / STEP_MS));
  const counts = new Int32Array(bins + 1);
  const perStep = (rate * STEP_MS) / 1000;
  let most = 0;
  for (let from = bins - 1; from >= 0; from--) {
    for (const end of endsBySent[from]!) counts[end]!++;
    let count = 0;
    for (let to = from; to <= bins; to++) {
      count += counts[to]!;
      most = Math.max(most, count - perStep * (to - from));
    }
  }
  return most;
}

/**
 * Returns how many of the sent lookups a limit allows.
 * @param share what each host may allow on its own in this second; then nothing of the rate is kept for later
 */
export function usable(
  { demand }: Loaded,
  limit: { readonly rate: number; readonly burst: number },
  share: (second: number) => number | undefined = () => undefined,
): number {
  let level = limit.burst;
  let used = 0;
  for (const [second, hosts] of demand.entries()) {
    const most = share(second);
    if (most !== undefined) {
      used += sum(hosts.map((one) => Math.min(one, most)));
      continue;
    }
    level = Math.min(limit.burst, level) + limit.rate;
    const taken = Math.min(sum(hosts), level);
    level -= taken;
    used += taken;
  }
  return used;
}
