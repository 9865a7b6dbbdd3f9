// Runs the queries of docs/enrich.md, docs/exports.md and docs/warehouses.md in DuckDB.

import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { tried } from "../../../../test/harness/recorded-rows.ts";
import { smallDomain, smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../../../cli/src/program.testing.ts";

const PAGE = join(import.meta.dir, "../../../../docs/enrich.md");
const [EXPORTS, WAREHOUSES] = ["exports", "warehouses"].map((name) =>
  readFileSync(join(import.meta.dir, `../../../../docs/${name}.md`), "utf8"),
) as [string, string];
const DUCKDB = "@duckdb/node-api";
/** More rows than DuckDB reads to detect the quote. */
const PLAIN_ROWS = 140_000;
/** The owner of 81.2.69.0/25 in a small release with networks. */
const OWNER = "Andrews & Arnold, Ltd";

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

  const [, query = ""] = /```sql\n(SELECT .* read_csv.*;)\n```/.exec(readFileSync(PAGE, "utf8")) ?? [];
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
  tried(import.meta.path, DUCKDB, DUCKDB, "reading the output of `inkling enrich`, as in enrich.md");
});

test("DuckDB reads fields of NDJSON that come late, as docs/enrich.md says", async () => {
  const temp = temporaryFolder();
  const dataDir = join(temp, "data");
  smallRelease(dataDir, 1);
  const row = (ip: string) => `{"ip":"${ip}"}\n`;
  writeFileSync(join(temp, "visits.ndjson"), row("8.8.8.8").repeat(PLAIN_ROWS) + row("81.2.69.142"));
  const target = join(temp, "visits-with-locations.ndjson");
  const args = ["enrich", join(temp, "visits.ndjson"), "--out", target];
  expect((await runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp })).code).toBe(0);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const [, query = ""] = /```sql\n(SELECT .* read_ndjson.*?);\n```/.exec(readFileSync(PAGE, "utf8")) ?? [];
  const rowsOf = async (text: string) =>
    (await connection.runAndReadAll(text.replace("visits-with-locations.ndjson", () => target))).getRows();
  expect(await rowsOf(`${query} ORDER BY 1`)).toEqual([
    ["GB", 1n],
    [null, BigInt(PLAIN_ROWS)],
  ]);
  await expect(rowsOf(query.replace(", sample_size = -1", ""))).rejects.toThrow("country_iso_code");
});

/** Returns the queries in a section of docs/exports.md or docs/warehouses.md. */
function queriesIn(heading: string): string[] {
  const section = `${EXPORTS}\n${WAREHOUSES}`.split(`# ${heading}\n`)[1]!.split(/\n#+ /)[0]!;
  return [...section.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text!);
}

test("DuckDB joins visits with the Parquet export, as docs/warehouses.md says", async () => {
  const temp = temporaryFolder();
  const dataDir = join(temp, "data");
  smallRelease(dataDir, 1, [], [], true);
  for (const [lookup, file] of Object.entries({
    geolocate: "countries",
    reputation: "reputation",
    network: "network",
  })) {
    const args = ["export", "parquet", "--lookup", lookup, "--out", join(temp, `${file}.parquet`)];
    expect((await runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp })).code).toBe(0);
  }
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rowsOf = async (query: string) =>
    (
      await connection.runAndReadAll(
        query.replaceAll(
          /'(countries|reputation|network)\.parquet'/g,
          (_, name) => `'${join(temp, `${name}.parquet`)}'`,
        ),
      )
    ).getRows();
  await rowsOf(`CREATE TABLE visits AS SELECT unnest(['81.2.69.0', '81.2.69.255', '81.2.70.0', '8.8.8.8',
    '2001:db8::1', '2a02:8010::1', '::1', '::ffff:81.2.69.1', 'nonsense', '81.2.69.256', '1.2.3.4.5', NULL]) AS ip, 7 AS amount`);
  const queries = queriesIn("DuckDB");
  expect(queries).toHaveLength(1);
  const [joined] = queries.map((query) => query.replace(/;\s*$/, ""));
  expect(await rowsOf(`SELECT * FROM (${joined}) ORDER BY ip`)).toEqual(
    [
      ["1.2.3.4.5", null, null],
      ["2001:db8::1", null, null],
      ["2a02:8010::1", null, "Andrews & Arnold Ltd"],
      ["8.8.8.8", null, null],
      ["81.2.69.0", "GB", OWNER],
      ["81.2.69.255", "GB", null],
      ["81.2.69.256", null, null],
      ["81.2.70.0", null, null],
      ["::1", null, null],
      ["::ffff:81.2.69.1", "GB", OWNER],
      ["nonsense", null, null],
      [null, null, null],
    ].map(([ip = null, country = null, owner = null]) => [
      ip,
      7,
      country,
      country === null ? null : true,
      owner,
    ]),
  );
  const hex = `00000000000000000000ffff${Buffer.from([81, 2, 69, 142]).toString("hex")}`;
  const day = join(temp, "history/day=2026-11-29");
  mkdirSync(day, { recursive: true });
  copyFileSync(join(temp, "countries.parquet"), join(day, "countries.parquet"));
  const [history] = queriesIn("History");
  const dated = history!
    .replaceAll(/'0{20}ffff[0-9a-f]{8}'/g, `'${hex}'`)
    .replace("history", join(temp, "history"));
  expect((await rowsOf(dated)).map(([date, country]) => [String(date), country])).toEqual([
    ["2026-11-29", "GB"],
  ]);

  const [metadata = ""] = queriesIn("How fresh an export is");
  expect(await rowsOf(metadata)).toEqual([[expect.stringMatching(/^Inkling, release \w+-[0-9a-f]{12}$/m)]]);
  const [[version]] = (await rowsOf("SELECT version()")) as [[string]];
  const [, tested] = /^v(\d+\.\d+)/.exec(version)!;
  for (const text of [`| DuckDB ${tested} |`, `our tests run ${tested}:`]) expect(WAREHOUSES).toContain(text);
  tried(import.meta.path, DUCKDB, DUCKDB, "joins with Parquet exports, as in warehouses.md");
});

test("both families in one table, and empty values, are as docs/exports.md says", async () => {
  const temp = temporaryFolder();
  const dataDir = join(temp, "data");
  smallRelease(dataDir, 1, ["is_abuser"], [], true);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rowsOf = async (query: string) => (await connection.runAndReadAll(query)).getRows();
  for (const lookup of ["geolocate", "reputation", "network"]) {
    const args = ["export", "parquet", "--lookup", lookup, "--out", join(temp, `${lookup}.parquet`)];
    expect((await runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp })).code).toBe(0);
  }
  const section = EXPORTS.split("# IPv4 and IPv6 in one table\n")[1]!.split(/\n#+ /)[0]!;
  const keys = [
    ...section.matchAll(/^\| `(?:network|first|last|first_ipv4`, `last_ipv4)`.*?\| (.*) \| (.*) \|$/gm),
  ];
  expect(keys).toHaveLength(4);
  const columnsOf = (network: string) =>
    `SELECT network, first, last, first_ipv4 || ', ' || last_ipv4 FROM '${join(temp, "*.parquet")}'
    WHERE network = '${network}' LIMIT 1`;
  const cells = (column: number) => keys.map((row) => row[column]!.replaceAll("`", ""));
  for (const column of [1, 2]) {
    const [row] = await rowsOf(columnsOf(cells(column)[0]!));
    expect(row!.map((value) => String(value ?? "NULL"))).toEqual(cells(column));
  }
  const [, key = ""] = /^```python\n([\s\S]*?)^```$/m.exec(EXPORTS) ?? [];
  const addresses = ["81.2.69.0", "::ffff:81.2.69.255", "2a02:8010::"];
  const printed = addresses.map((address) => `print(key("${address}"))`).join("\n");
  const made = Bun.spawnSync(["python3", "-c", `${key}\n${printed}`])
    .stdout.toString()
    .trim()
    .split("\n");
  const [first, last] = [cells(1)[1]!, cells(1)[2]!];
  expect(made).toEqual([first, last, cells(2)[1]!]);

  const at = (name: string) => `FROM '${join(temp, name)}.parquet' WHERE network LIKE '81.2.69.0%' LIMIT 1`;
  expect(await rowsOf(`SELECT subdivision_1_name, postal_code, latitude ${at("geolocate")}`)).toEqual([
    [null, null, null],
  ]);
  expect(await rowsOf(`SELECT is_abuser, is_proxy, is_tor_exit ${at("reputation")}`)).toEqual([
    [null, true, false],
  ]);
  expect(await rowsOf(`SELECT network_services, network_operator ${at("network")}`)).toEqual([["", null]]);
});

/** What DuckDB lacks of BigQuery, for the query in docs/warehouses.md. `bytes_of` has the bytes of the test's addresses. */
const BIGQUERY = `CREATE SCHEMA NET; CREATE SCHEMA DATASET;
  CREATE TABLE bytes_of (text VARCHAR, hex VARCHAR);
  CREATE MACRO NET.SAFE_IP_FROM_STRING(ip) AS (SELECT from_hex(bytes_of.hex) FROM bytes_of WHERE text = ip);
  CREATE MACRO TO_HEX(value) AS lower(hex(value));
  CREATE MACRO BYTE_LENGTH(value) AS octet_length(value);
  CREATE MACRO LOGICAL_OR(value) AS bool_or(value);
  CREATE MACRO GENERATE_ARRAY(low, high) AS generate_series(low, high);`;

test("the query for BigQuery finds both address families, with DuckDB in its place", async () => {
  const [query = ""] = queriesIn("BigQuery");
  const [, define = "", select = ""] = /^(CREATE TEMP FUNCTION .*?\n\);\n)(WITH .*)$/s.exec(query) ?? [];
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rowsOf = async (text: string) => (await connection.runAndReadAll(text)).getRows();
  await rowsOf(BIGQUERY);
  const v4 = (bytes: string) => `00000000000000000000ffff${bytes}`;
  const networks = [
    [v4("51000000"), v4("5101ffff"), "GB"], // two blocks
    [v4("51024500"), v4("510245ff"), "IE"],
    ["2a028010".padEnd(32, "0"), "2a028013".padEnd(32, "f"), "FR"], // four blocks
    ["2e00".padEnd(32, "0"), "2fff".padEnd(32, "f"), "CA"], // wider than a /16
  ];
  const proxies = [[v4("51024501"), v4("51024501"), "true"]];
  const owners = [
    [v4("51024500"), v4("5102457f"), "A"],
    [v4("51024600"), v4("510246ff"), "B"],
  ];
  const addresses = [
    ["81.1.255.255", "5101ffff", "GB", null, null],
    ["81.2.0.0", "51020000", null, null, null],
    ["81.2.69.1", "51024501", "IE", true, "A"],
    ["81.2.69.2", "51024502", "IE", null, "A"],
    ["81.2.70.1", "51024601", null, null, "B"],
    ["::ffff:81.2.69.1", v4("51024501"), "IE", true, "A"],
    ["2a02:8011::1", "2a028011".padEnd(31, "0").concat("1"), "FR", null, null],
    ["2a02:8014::1", "2a028014".padEnd(31, "0").concat("1"), null, null, null],
    ["2f00::1", "2f00".padEnd(31, "0").concat("1"), null, null, null],
    ["nonsense", null, null, null, null],
  ] as const;
  const values = (rows: readonly (readonly (string | null)[])[]) =>
    rows.map((row) => `(${row.map((it) => (it === null ? "NULL" : `'${it}'`)).join(", ")})`).join(", ");
  const table = (name: string, column: string, rows: readonly string[][]) =>
    `CREATE TABLE DATASET.${name} (first VARCHAR, last VARCHAR, ${column}); INSERT INTO DATASET.${name} VALUES ${values(rows)};`;
  await rowsOf(`INSERT INTO bytes_of VALUES ${values(addresses.map(([text, hex]) => [text, hex]))};
    ${table("countries", "country_iso_code VARCHAR", networks)}
    ${table("reputation", "is_proxy BOOL", proxies)}
    ${table("network", "network_organization VARCHAR", owners)}
    CREATE TABLE DATASET.visits AS SELECT text AS ip, 7 AS amount FROM bytes_of`);
  await rowsOf(define.replace("TEMP FUNCTION block(hex STRING)", "MACRO block(hex)"));
  const translated = select.replace(/(UNNEST\(.*\)) AS number/, "$1 AS numbers(number)");
  const found = await rowsOf(
    `SELECT ip, amount, country_iso_code, is_proxy, owner FROM (${translated.replace(/;\s*$/, "")})`,
  );
  expect(found.sort()).toEqual(addresses.map(([text, , ...answer]) => [text, 7, ...answer]).sort() as never);
});

test("DuckDB finds disposable domains, as docs/warehouses.md says", async () => {
  const temp = temporaryFolder();
  const dataDir = join(temp, "data");
  smallRelease(dataDir, 1);
  const target = join(temp, "disposable.parquet");
  const ran = await runHere(["export", "parquet", "--lookup", "email", "--out", target], {
    env: { INKLING_DATA_DIR: dataDir },
    cwd: temp,
  });
  expect(ran.code).toBe(0);
  const listed = smallDomain(1);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rowsOf = async (query: string) => (await connection.runAndReadAll(query)).getRows();
  await rowsOf(`CREATE TABLE signups AS SELECT unnest(['a@${listed}', 'b@Mail.X.${listed.toUpperCase()} ', '"c@d"@${listed}',
    'e@x${listed}', 'f@com', 'g', NULL]) AS email, 7 AS amount`);
  const [query] = queriesIn("Email addresses");
  const found = query!.replace("'disposable.parquet'", `'${target}'`).replace(/;\s*$/, "");
  expect(await rowsOf(`SELECT * FROM (${found}) ORDER BY email`)).toEqual([
    [`"c@d"@${listed}`, 7, true, listed],
    [`a@${listed}`, 7, true, listed],
    [`b@Mail.X.${listed.toUpperCase()} `, 7, true, listed],
    [`e@x${listed}`, 7, false, null],
    ["f@com", 7, false, null],
    ["g", 7, false, null],
    [null, 7, false, null],
  ]);
});
