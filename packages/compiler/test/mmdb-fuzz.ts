// mmdb-fuzz.ts: reads damaged copies of good MMDB files, in a process of its own so that its memory can be read.
//
// in   arguments: seed, number of flipped copies for each file, then paths; no path means our own fixtures
// out  a FuzzReport as JSON on standard output; exit status 1 and the damage on standard error when anything
//      but an MmdbError came out
// note damage: cut at many lengths, bits flipped, bytes overwritten, two files spliced

import { existsSync, readFileSync } from "node:fs";
import { randomBelow } from "../../../test/random.ts";
import { CountrySource, GeoSource } from "../src/geo/place-source.ts";
import { Mmdb, MmdbError } from "../src/mmdb/mmdb.ts";
import { COUNTRY_V4, DBIP_NESTED, FLAT_V4, FLAT_V6, MAXMIND_NESTED } from "./mmdb-fixtures.ts";

export interface FuzzReport {
  readonly files: number;
  readonly cases: Record<
    "cut" | "flipped" | "overwritten" | "spliced",
    { refused: number; answered: number }
  >;
  /** Stages that refused: none of them may be missing. */
  readonly refusedBy: Record<"metadata" | "separator" | "search tree" | "data section", number>;
  readonly maxRssBytes: number;
}

if (import.meta.main) main();

function main(): void {
  const [seed = "1", flips = "200", ...paths] = process.argv.slice(2);
  const files =
    paths.length > 0
      ? paths.map((path) => new Uint8Array(readFileSync(path)))
      : [FLAT_V4, FLAT_V6, DBIP_NESTED, MAXMIND_NESTED, COUNTRY_V4];
  const random = randomBelow(Number(seed));
  const fuzz = new Fuzz();
  for (const file of files) {
    cuts(file, fuzz);
    for (let i = 0; i < Number(flips); i++) {
      fuzz.read("flipped", flipped(file, random), `seed ${seed}`);
      fuzz.read("overwritten", overwritten(file, random), `seed ${seed}`);
      fuzz.read("spliced", spliced(file, files[random(files.length)]!, random), `seed ${seed}`);
    }
  }
  const report: FuzzReport = {
    files: files.length,
    cases: fuzz.cases,
    refusedBy: fuzz.refusedBy,
    maxRssBytes: peakBytes(),
  };
  process.stdout.write(JSON.stringify(report));
}

/** Most memory that this process had at once. `maxRSS` will not do on Linux: a child begins with its parent's. */
function peakBytes(): number {
  const status = "/proc/self/status";
  const own = existsSync(status) ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8")) : null;
  return (own === null ? process.resourceUsage().maxRSS : Number(own[1])) * 1024;
}

class Fuzz {
  readonly cases: FuzzReport["cases"] = {
    cut: { refused: 0, answered: 0 },
    flipped: { refused: 0, answered: 0 },
    overwritten: { refused: 0, answered: 0 },
    spliced: { refused: 0, answered: 0 },
  };
  readonly refusedBy = { metadata: 0, separator: 0, "search tree": 0, "data section": 0 };

  read(damage: keyof FuzzReport["cases"], bytes: Uint8Array, what: string): void {
    const stage = this.attempt(damage, what, () => readAll(bytes));
    this.cases[damage][stage === undefined ? "answered" : "refused"]++;
    if (stage !== undefined) this.refusedBy[stage]++;
    // Sources refuse by the same rules; what they make of readable damage must not throw anything else.
    this.attempt(damage, what, () => GeoSource.open([bytes]));
    this.attempt(damage, what, () => CountrySource.open([bytes]));
  }

  /** The section that refused, or undefined when all could be read. */
  private attempt(damage: string, what: string, run: () => void): keyof FuzzReport["refusedBy"] | undefined {
    try {
      run();
      return undefined;
    } catch (error) {
      if (error instanceof MmdbError) {
        const stages = Object.keys(this.refusedBy) as (keyof FuzzReport["refusedBy"])[];
        const stage = stages.find((name) => error.message.startsWith(name));
        if (stage !== undefined) return stage;
      }
      process.stderr.write(`${damage}, ${what}: ${(error as Error).stack}\n`);
      process.exit(1);
    }
  }
}

function readAll(bytes: Uint8Array): void {
  const db = Mmdb.open(bytes);
  const offsets = new Set<number>();
  for (const family of [4, 6] as const)
    db.walk(family, (_a, _b, _c, _d, _bits, offset) => offsets.add(offset));
  for (const offset of offsets) db.decode(offset);
}

/** Every length near the ends, and 200 in between. */
function cuts(file: Uint8Array, fuzz: Fuzz): void {
  const step = Math.max(1, Math.floor(file.length / 200));
  for (let length = 0; length < file.length; length++) {
    const near = length < 64 || file.length - length < 300;
    if (near || length % step === 0) fuzz.read("cut", file.slice(0, length), `length ${length}`);
  }
}

/** One to four bits. */
function flipped(file: Uint8Array, random: (below: number) => number): Uint8Array {
  const copy = file.slice();
  for (let i = random(4); i >= 0; i--) {
    const at = place(file, random);
    copy[at]! ^= 1 << random(8);
  }
  return copy;
}

/** One to eight bytes in a row, of values that mean something to a decoder. */
function overwritten(file: Uint8Array, random: (below: number) => number): Uint8Array {
  const copy = file.slice();
  const at = place(file, random);
  for (let i = random(8); i >= 0 && at + i < copy.length; i--) {
    copy[at + i] = random(4) === 0 ? 0xff : random(256);
  }
  return copy;
}

/** The beginning of one and the end of the other, at the same place or at any. */
function spliced(a: Uint8Array, b: Uint8Array, random: (below: number) => number): Uint8Array {
  const cut = place(a, random);
  const from = random(2) === 0 ? Math.min(cut, b.length) : place(b, random);
  return Uint8Array.from([...a.subarray(0, cut), ...b.subarray(from)]);
}

/** Anywhere; one time in three in the last 300 bytes, where the metadata is, one in three in the first 600. */
function place(file: Uint8Array, random: (below: number) => number): number {
  const part = random(3);
  if (part === 0) return file.length - 1 - random(Math.min(300, file.length));
  return random(part === 1 ? Math.min(600, file.length) : file.length);
}
