// Fuzzes MaxMind's conformance files. Reading a file results in an MmdbError or an answer.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VECTORS } from "../harness/data-folders.ts";
import type { Target } from "./target.ts";
import { check } from "./targets/mmdb.ts";

/** Larger files are skipped, because fuzzing them would take too long. */
const MAX_BYTES = 30_000;

export default function mmdbVectors(): Target {
  const folder = join(VECTORS, "maxmind-db/test-data");
  const names = readdirSync(folder).filter((name) => name.endsWith(".mmdb") && !/broken|invalid/i.test(name));
  const files = names.map((name) => new Uint8Array(readFileSync(join(folder, name))));
  return { corpus: files.filter(({ length }) => length < MAX_BYTES), check };
}
