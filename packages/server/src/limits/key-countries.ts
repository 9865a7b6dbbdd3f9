// key-countries.ts: counts, per key, the countries in the locations that a worker has returned since its last report.
//
// out  for each key, the number of locations per country since the last report; under load, estimated from a sample
//      (telemetry/counts.ts). A killed worker loses less than a second of counts.

import type { EpochMs, KeyId } from "@inkling/store/keys/key";

/** Number of locations by ISO 3166-1 code. */
export type CountryCounts = Readonly<Record<string, number>>;

/** Counts the countries of locations per key. */
export interface CountrySink {
  recordCountry(keyId: KeyId, country: string, count: number, now: EpochMs): void;
}

export class KeyCountries implements CountrySink {
  private byKey = new Map<KeyId, Record<string, number>>();

  recordCountry(keyId: KeyId, country: string, count: number): void {
    let counts = this.byKey.get(keyId);
    if (counts === undefined) {
      counts = {};
      this.byKey.set(keyId, counts);
    }
    counts[country] = (counts[country] ?? 0) + count;
  }

  /** @returns what was counted since the last call */
  take(): ReadonlyMap<KeyId, CountryCounts> {
    const taken = this.byKey;
    this.byKey = new Map();
    return taken;
  }
}
