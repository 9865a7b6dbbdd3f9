// Runs the query of docs/enrich.md in DuckDB.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../../../cli/src/program.testing.ts";

const PAGE = join(import.meta.dir, "../../../../docs/enrich.md");
/** More rows than DuckDB reads to detect the quote. */
const PLAIN_ROWS = 140_000;

test("DuckDB reads quoted cities that come late, as docs/enrich.md says", async () => {
  const temp = temporaryFolder();
  const dataDir = join(temp, "data");
  smallRelease(dataDir, 1);
  const late = '8.8.8.8,"Washington, D.C."\n8.8.8.8,"the ""Loop"""\n';
  writeFileSync(join(temp, "visits.csv"), `ip,city\n${"81.2.69.142,Berlin\n".repeat(PLAIN_ROWS)}${late}`);
  const target = "visits-with-locations.csv";
  const ran = await runHere(["enrich", join(temp, "visits.csv"), "--out", join(temp, target)], {
    env: { INKLING_DATA_DIR: dataDir },
    cwd: temp,
  });
  expect(ran.code).toBe(0);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rowsOf = async (query: string) =>
    (await connection.runAndReadAll(query.replaceAll(`'${target}'`, `'${join(temp, target)}'`))).getRows();

  const [, query = ""] = /```sql\n(.*?)```/s.exec(readFileSync(PAGE, "utf8")) ?? [];
  expect(await rowsOf(`${query.replace(/;\s*$/, "")} ORDER BY 1`)).toEqual([
    ["GB", BigInt(PLAIN_ROWS)],
    [null, 2n],
  ]);
  const [, table = ""] = /FROM (read_csv\([^)]*\))/.exec(query) ?? [];
  expect(await rowsOf(`SELECT city FROM ${table} WHERE ip = '8.8.8.8' ORDER BY 1`)).toEqual([
    ["Washington, D.C."],
    ['the "Loop"'],
  ]);
  // The option is needed.
  await expect(rowsOf(`SELECT count(*) FROM read_csv('${target}')`)).rejects.toThrow(
    "Expected Number of Columns",
  );
});
