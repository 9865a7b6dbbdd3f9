// duckdb-command.ts: DuckDB's command as the pages call it, `duckdb -bail -csv FILE < SQL`, with the library that tests have.

import { DuckDBInstance } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create(process.argv.at(-1)!)).connect();
const reader = await connection.runAndReadAll(await Bun.stdin.text());
const lines = [reader.columnNames(), ...reader.getRows()].map((row) => `${row.join(",")}\n`);
process.stdout.write(lines.join(""));
