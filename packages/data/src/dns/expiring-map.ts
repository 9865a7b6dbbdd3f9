// expiring-map.ts: a map whose entries expire. A full map drops its oldest entry to make room for a new one.
//
// Cost: one Map access.

interface Entry<Value> {
  readonly value: Value;
  readonly until: number;
}

export class ExpiringMap<Value> {
  private readonly elapsed: () => number;
  private readonly max: number;
  /** Entries, oldest first. */
  private readonly entries = new Map<string, Entry<Value>>();

  /** @param elapsed milliseconds of a monotonic clock */
  constructor(elapsed: () => number, max: number) {
    this.elapsed = elapsed;
    this.max = max;
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.until > this.elapsed()) return entry?.value;
    this.entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, seconds: number): void {
    this.entries.delete(key);
    const [oldest] = this.entries.keys();
    if (oldest !== undefined && this.entries.size >= this.max) this.entries.delete(oldest);
    this.entries.set(key, { value, until: this.elapsed() + seconds * 1000 });
  }
}
