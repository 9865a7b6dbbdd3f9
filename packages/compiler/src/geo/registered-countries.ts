// registered-countries.ts: reads, from the registries' delegations, the country in which each network is registered.

import type { Prefix } from "@inkling/engine";
import type { RegisteredCountries } from "./place-list.ts";

/** Reads registered countries from a list of networks. If two networks overlap, the first in address order wins. */
export function registeredFromList(
  rows: readonly { readonly prefix: Prefix; readonly country: string }[],
): RegisteredCountries {
  const countries = [...new Set(rows.map((row) => row.country))].sort();
  const indexOf = new Map(countries.map((country, index) => [country, index]));
  return {
    countries,
    walk(family, visit) {
      let after: readonly number[] = [-1, 0, 0, 0];
      const ofFamily = rows.filter((row) => row.prefix.address.family === family);
      for (const { prefix, country } of ofFamily.sort((a, b) =>
        compareWords(a.prefix.address.words, b.prefix.address.words),
      )) {
        const w = prefix.address.words;
        if (compareWords(w, after) <= 0) continue;
        visit(w[0]!, w[1]!, w[2]!, w[3]!, prefix.bits, indexOf.get(country)!);
        after = lastWords(prefix);
      }
    },
  };
}

function compareWords(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]! || a[3]! - b[3]!;
}

function lastWords({ address, bits }: Prefix): readonly number[] {
  const words = address.family === 4 ? 1 : 4;
  return Array.from(address.words, (word, k) => {
    if (k >= words) return 0;
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    return kept === 32 ? word : (word | (0xffffffff >>> kept)) >>> 0;
  });
}
