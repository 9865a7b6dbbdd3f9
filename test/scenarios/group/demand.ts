// demand.ts: paced lookups at several hosts at once, and whether the allowed ones keep a limit.
//
// When a host decided is only known to lie between sending and receiving. A window counts a lookup when both lie in it:
// what exceeds the limit then did so in any case.

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** In ms since the load began. */
export interface Allowed {
  readonly sent: number;
  readonly received: number;
}

export interface Loaded {
  readonly seconds: number;
  readonly allowed: readonly Allowed[];
  readonly refused: number;
  /** Neither 200 nor 429, or no answer. */
  readonly failed: number;
  /** By second and host: lookups that were sent. */
  readonly demand: readonly (readonly number[])[];
}

export interface Schedule {
  readonly seconds: number;
  /** Lookups a second at each host, by the second. */
  readonly rates: (second: number) => readonly number[];
  /** One lookup. @returns its status */
  readonly lookUp: (host: number) => Promise<number>;
  /** Called at the beginning of each second. */
  readonly onSecond?: (second: number) => void;
}

const TICK_MS = 5;
/** Further lookups at a host that does not answer are not sent. */
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

/** The most lookups above `rate` times its length in any window: at most the burst, when the limit is kept. */
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
 * Lookups that a limit leaves, of those that were sent.
 * @param share what each host may allow alone in this second: nothing of the rate remains for later then
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
