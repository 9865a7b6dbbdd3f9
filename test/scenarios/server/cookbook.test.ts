// Tests the recipes in docs/exports.md and docs/warehouses.md, and commands of docs/enrich.md and docs/maxmind.md,
// unchanged, with a small release.
// PostgreSQL, nginx and DuckDB are real. For nftables and ClickHouse, the test records the commands.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { Reader } from "@maxmind/geoip2-node";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { Postgres } from "../../harness/postgres.ts";
import { withPrograms } from "../../harness/programs.ts";
import { run } from "../../harness/published-packages.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { smallCity, smallDomain, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { until } from "../../harness/until.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const PAGE = ["exports", "warehouses"]
  .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), "utf8"))
  .join("\n");
const ENRICH = readFileSync(join(ROOT, "docs/enrich.md"), "utf8");
/** In small release 1, the first address is a proxy in GB, and the second is on no list. */
const [PROXY, OTHER] = ["81.2.69.1", "8.8.8.8"];

const OWNER = "Andrews & Arnold, Ltd";

const GEOIP2 = "/usr/lib/nginx/modules/ngx_http_geoip2_module.so";

const folder = temporaryFolder();
const programs = temporaryFolder();
const data = temporaryFolder();
let [earlierId, releaseId] = ["", ""];

function program(name: string, script: string): void {
  writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(programs, name), 0o755);
}

/** Returns the code blocks in a section. */
function blocks(heading: string): string[] {
  const section = PAGE.split(/^##+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, code]) => code!);
}

const shell = (script: string, flags = "-ec") =>
  run(["env", `PATH=${programs}:${process.env.PATH}`, "sh", flags, script], folder);

/** Returns the commands called since the last time. */
function calls(): string[] {
  const path = join(folder, "calls");
  const lines = readFileSync(path, "utf8").trim().split("\n");
  writeFileSync(path, "");
  return lines;
}

beforeAll(() => {
  const current = () => readFileSync(join(data, "current"), "utf8").trim().slice(-12);
  smallRelease(data, 0, [], [], true);
  earlierId = current();
  smallRelease(data, 1, [], [], true);
  releaseId = current();
  const inkling = `"${process.execPath}" "${join(ROOT, "packages/cli/src/main.ts")}"`;
  program("inkling", `INKLING_DATA_DIR="${data}" exec ${inkling} "$@"`);
  for (const name of ["nft", "clickhouse-client"]) program(name, `echo "${name} $*" >> "${folder}/calls"`);
  writeFileSync(join(folder, "calls"), "");
});

test("a log", async () => {
  const line = (ip: string) => `${ip} - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "curl"`;
  writeFileSync(join(folder, "access.log"), `${line(PROXY)}\n${line(OTHER)}\n`);
  const summary = await shell(ENRICH.match(/^inkling enrich access\.log .*$/gm)!.join("\n"));
  expect(summary).toContain("GB");
  const [first] = readFileSync(join(folder, "access-enriched.log"), "utf8").split("\n");
  expect(first).toContain("country_iso_code=GB");
  expect(first).toContain("is_proxy=true");

  const [, command, copy] = /## From a log[\s\S]*?^```sh\n([\s\S]*?)^```$[\s\S]*?^```sql\n(.*)\n```$/m.exec(
    ENRICH,
  )!;
  await shell(command!);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const run = (query: string) =>
    connection.runAndReadAll(query.replace(/requests\.\w+/g, (name) => join(folder, name)));
  await run(copy!);
  const rows = await run("SELECT ip, time, status, country_iso_code, is_proxy FROM 'requests.parquet'");
  expect(rows.getRows().map(([ip, time, ...rest]) => [ip, String(time), ...rest.map(String)])).toEqual([
    [PROXY, "22/Nov/2026:10:00:00", "200", "GB", "true"],
    [OTHER, "22/Nov/2026:10:00:00", "200", "null", "false"],
  ]);
});

withPrograms("from visits to a joined table: each row is kept", ["jq"], true, async () => {
  const section = ENRICH.split("\n## From visits to a joined table\n")[1]!.split("\n## ")[0]!;
  const [make = "", enrich = "", load = "", run = ""] = [
    ...section.matchAll(/^```(?:sh|sql)\n([\s\S]*?)^```$/gm),
  ].map(([, code]) => code);
  const [visits, orders] = [1_000, 200];
  const small = (text: string) => text.replace("1000000", String(visits)).replace("200000", String(orders));
  expect(small(make)).toMatch(/id <= 1000;[\s\S]*id <= 200;/);
  const counts = await shell(
    `${small(make).replace("inkling data update\n", "")}sed -i '2s/[^,]*$/${PROXY}/; 6s/[^,]*$/${PROXY}/' visits.csv
${enrich.replace("inkling data status --max-age 75d > /dev/null &&", "")}`,
  );
  const [, rows, found, missing] = JSON.parse(counts);
  expect([rows, found + missing]).toEqual([visits, visits]);
  writeFileSync(join(folder, "run/load.sql"), load);
  program("duckdb", `exec "${process.execPath}" "${join(import.meta.dir, "duckdb-command.ts")}" "$@"`);
  const [, header = "", row = ""] = /^(orders,.*)\n(.*)$/m.exec(section)!;
  expect(row).toStartWith("200000,200000,");
  const printed = `${header}\n${orders},${orders},1,1\n`;
  expect(await shell(`cd run\n${run}${run}`)).toBe(printed.repeat(2));
});

test("a summary beside the output has the fields in the sample", async () => {
  const [, command = "", sample = ""] =
    /^```sh\n(inkling enrich visits\.csv .*--summary --json > run\.json\n.*)\n```\n\n```json\n([\s\S]*?)^```$/m.exec(
      ENRICH,
    )!;
  writeFileSync(join(folder, "visits.csv"), `ip\n${PROXY}\n${OTHER}\n10.0.0.1\n`);
  const summary = JSON.parse(await shell(command));
  const shape = ({ ip, ...rest }: Record<string, object>) => [Object.keys(rest), Object.keys(ip!)];
  expect(shape(summary)).toEqual(shape(JSON.parse(sample)));
  expect([summary.rows, summary.ip.found, summary.ip.missing]).toEqual([3, 2, 1]);
  expect(existsSync(join(folder, "visits-with-locations.csv"))).toBe(true);
});

test("many compressed files: one output or one for each, and none from a damaged file", async () => {
  const line = (ip: string) => gzipSync(`${ip} "GET / HTTP/1.1" 200\n`);
  writeFileSync(join(folder, "access.log.1.gz"), line(PROXY));
  writeFileSync(join(folder, "access.log.2.gz"), line(OTHER));
  const [joining] = ENRICH.match(/^cat access\.log.*$/m)!;
  await shell(joining);
  const output = join(folder, "access-enriched.log");
  expect(readFileSync(output, "utf8").match(/is_proxy=\w+/g)).toEqual(["is_proxy=true", "is_proxy=false"]);
  writeFileSync(join(folder, "access.log.2.gz"), line(OTHER).subarray(0, -9));
  await expect(shell(joining)).rejects.toThrow("access-enriched.log was not written");

  mkdirSync(join(folder, "logs"));
  for (const [name, ip] of Object.entries({ a: PROXY, b: OTHER }))
    writeFileSync(
      join(folder, `logs/${name}.ndjson.gz`),
      gzipSync(`${JSON.stringify({ request: { client_ip: ip } })}\n`),
    );
  await shell(/^mkdir -p enriched\n[\s\S]*?^done$/m.exec(ENRICH)![0]);
  const enriched = (name: string) =>
    gunzipSync(readFileSync(join(folder, `enriched/${name}.ndjson.gz`))).toString();
  expect(enriched("a")).toContain('"is_proxy":true');
  expect(enriched("b")).toContain('"is_proxy":false');
});

test("formats: the output of each row", async () => {
  const zero = temporaryFolder();
  smallRelease(zero, 0); // its network is no proxy
  const [, head = ""] = /^\| `--format` \|.*`(--add .*)` \|$/m.exec(ENRICH) ?? [];
  const rows = [...ENRICH.matchAll(/^\| `(csv|ndjson|lines)`.* \| `(.*)` \| `(.*)` \|$/gm)];
  expect(rows.map(([, format]) => format)).toEqual(["csv", "ndjson", "lines"]);
  for (const [, format, row, output] of rows) {
    writeFileSync(join(folder, "rows"), `${row}\n`);
    const command = `inkling enrich rows --format ${format} ${head} --data-dir "${zero}"`;
    expect([format, await shell(command)]).toEqual([format, `${output}\n`]);
  }
});

/** What the script for every night has for a warehouse: the commands that use its release, or load its files. */
const nightly = (warehouse: string) =>
  blocks(warehouse).find((text) => /--release \$release|bq load/.test(text))!;

withPrograms(
  "every night: exports of one release and a load, unless data is too old",
  ["jq"],
  true,
  async () => {
    const [start] = blocks("Every night");
    const userFiles = temporaryFolder();
    const script = [start, ...["DuckDB", "PostgreSQL", "ClickHouse", "BigQuery"].map(nightly)]
      .join("")
      .replaceAll("/var/lib/clickhouse/user_files", userFiles);
    const young = { is_tor_exit: 1, is_abuser: 1, is_proxy: 1, geolocation: 1, asn: 1, "as-metadata": 1 };
    const stubs = temporaryFolder();
    const home = temporaryFolder();
    const daily = async (update: number, status: number, ages: object = young, release = "") => {
      const stub = (name: string, text: string) =>
        writeFileSync(join(stubs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const real = join(programs, "inkling");
      stub(
        "inkling",
        `case "$2" in
update) exit ${update};;
status) echo '${JSON.stringify({ name: "night", ages, release: { id: releaseId, feeds: [] } })}'; exit ${status};;
esac
echo "$*" >>"${folder}/exports"
exec "${real}" "$@"`,
      );
      for (const name of ["psql", "clickhouse-client", "bq"])
        stub(name, `echo "${name} $*" >> "${folder}/calls"`);
      const path = `PATH=${stubs}:${process.env.PATH}`;
      await run(["env", `HOME=${home}`, path, `RELEASE=${release}`, "sh", "-c", script], home);
    };
    await daily(3, 0);
    expect(calls()).toEqual([
      "psql -q -v ON_ERROR_STOP=1 -f load.sql",
      ...["geolocate", "reputation", "network", "email"].map(
        (name) => `clickhouse-client --query SYSTEM RELOAD DICTIONARY inkling_${name}`,
      ),
      ...["countries", "reputation", "network", "disposable"].map(
        (name) => `bq load --replace --source_format=PARQUET DATASET.${name} ${name}.parquet`,
      ),
    ]);
    const exports = readFileSync(join(folder, "exports"), "utf8").trim().split("\n");
    expect(exports.filter((line) => line.includes(`--release ${releaseId} `))).toHaveLength(9);
    expect(exports).toHaveLength(9);
    const outputs = [...script.matchAll(/--out (\S+\.\w+)$/gm)].map(([, name]) => name!);
    expect(outputs).toHaveLength(8);
    for (const name of outputs) expect([name, existsSync(join(home, name))]).toEqual([name, true]);
    const dates = readFileSync(join(home, "dates.json"), "utf8");
    const yesterday = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(JSON.parse(dates)).toEqual({
      night: Object.fromEntries(Object.keys(young).map((answer) => [answer, yesterday])),
    });
    const [previous = ""] = readdirSync(join(home, "previous"));
    expect(readdirSync(join(home, "previous", previous)).sort()).toEqual(
      [
        "dates.json",
        ...outputs
          .filter((name) => name.endsWith(".csv"))
          .flatMap((name) => [name, `${name}.attribution.txt`]),
      ].sort(),
    );
    const [, listed = ""] = /It replaces (.*?), and no other/s.exec(PAGE) ?? [];
    const files = [...listed.matchAll(/`(.*?)`/g)].map(([, name]) => name!).sort();
    expect(files).toEqual(readdirSync(userFiles).sort());
    for (const [update, status] of [
      [1, 0],
      [0, 3],
    ] as const)
      await expect(daily(update, status)).rejects.toThrow();
    await expect(daily(0, 0, { ...young, is_tor_exit: 200_000 })).rejects.toThrow('{"is_tor_exit":2}');
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe("");

    writeFileSync(join(folder, "exports"), "");
    await daily(1, 3, {}, earlierId); // an earlier release: no update, and no check of the current release
    expect(calls()).toContain("psql -q -v ON_ERROR_STOP=1 -f load.sql");
    const again = readFileSync(join(folder, "exports"), "utf8").trim().split("\n");
    expect(again.filter((line) => line.includes(`--release ${earlierId} `))).toHaveLength(9);
    expect(readFileSync(join(home, "dates.json"), "utf8")).toBe(dates);
    await expect(daily(0, 0, young, "0123456789ab")).rejects.toThrow("0123456789ab");
  },
);

test("a stale export is printed, and so is a missing one", async () => {
  const check = blocks("DuckDB").find((text) => text.startsWith("cd "))!;
  const home = temporaryFolder();
  mkdirSync(join(home, "exports"));
  const names = ["countries.parquet", "reputation.parquet", "network.parquet", "disposable.parquet"];
  const printed = () => shell(`export HOME="${home}"\n${check}`, "-c");
  const found = (name: string) => `missing or older than 26 hours: ${name}\n`;
  expect(await printed()).toBe(names.map(found).join(""));
  for (const name of names) writeFileSync(join(home, "exports", name), "");
  expect(await printed()).toBe("");
  const old = new Date(Date.now() - 27 * 3_600_000);
  utimesSync(join(home, "exports", names[1]!), old, old);
  expect(await printed()).toBe(found(names[1]!));
});

test("after a bad night: the earlier releases, in the form of the sample", async () => {
  const [, list = "", sample = "", diff = ""] = [
    ...PAGE.matchAll(
      /^```sh\n(cd "\$HOME[\s\S]*?)^```\n\n```\n(Releases kept: [\s\S]*?)^```[\s\S]*?^```sh\n(inkling data diff .*)$/gm,
    ),
  ][0]!;
  const home = temporaryFolder();
  mkdirSync(join(home, "exports"));
  writeFileSync(join(home, "exports/daily.sh"), blocks("Every night")[0]!);
  const printed = await shell(`export HOME="${home}"\n${list}\necho "$INKLING_DATA_DIR"`);
  const name = /\d{8}T\d{9}Z-[0-9a-f]{12}/g;
  expect(printed.replaceAll(name, "NAME")).toBe(
    `${sample.replaceAll(name, "NAME")}${join(home, "inkling-data")}\n`,
  );
  const [newer, older] = sample.match(name)!.map((release) => release.slice(-12));
  expect(diff).toBe(`inkling data diff ${older} ${newer}`);
  const changes = await shell(diff.replace(older!, earlierId).replace(newer!, releaseId));
  expect(changes).toContain(`-${releaseId}, built`);
});

withPrograms("incomplete flags: the script stops", ["jq"], true, async () => {
  const [check = ""] = blocks("Incomplete flags");
  for (const [missing, prints] of [
    ["is_abuser", true],
    ["is_proxy", false],
  ] as const) {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1, [missing]);
    const there = `inkling data status --json --data-dir "${dataDir}" > status.json\n${check}`;
    if (prints) expect(await shell(there)).toBe("true\n");
    else await expect(shell(there)).rejects.toThrow();
  }
});

withPrograms("limits for each flag: too old, or of unknown age", ["jq"], true, async () => {
  const [, check = ""] = /^( *jq -e '[(][.]ages[\s\S]*?)^ *jq -c/m.exec(blocks("Every night")[0]!) ?? [];
  const [, limits = ""] = /\{(is_tor_exit: .*?)\}/.exec(check) ?? [];
  const feeds = limits.split(", ").map((limit) => {
    const [name = "", days] = limit.replaceAll('"', "").split(": ");
    const owner = FEEDS.find(({ id }) => id === name);
    return { id: owner?.id ?? `feed-of-${name}`, sets: owner?.sets ?? name, days: Number(days) };
  });
  expect(feeds.slice(4).map(({ sets }) => sets)).toEqual(["network", "kind"]);
  expect(feeds).toHaveLength(6);
  const run = (name: string, ages: readonly number[]) => {
    const dataDir = temporaryFolder();
    smallRelease(
      dataDir,
      1,
      [],
      ages.map((days, at) => ({
        id: feeds[at]!.id,
        sets: feeds[at]!.sets,
        licence: "CC0-1.0",
        source: "fetched",
        state: "loaded",
        entries: 1,
        published_at: new Date(Date.now() - days * 86_400_000).toISOString(),
      })),
    );
    const status = `inkling data status --json --data-dir "${dataDir}" > ${name}`;
    return shell(`${status}\n${check.replace("status.json", name)}`);
  };
  const young = feeds.map(({ days }) => days - 1);
  expect(await run("young.json", young)).toBe("");
  await expect(run("old.json", [3, ...young.slice(1)])).rejects.toThrow('{"is_tor_exit":2}');
  await expect(run("old-owners.json", [...young.slice(0, 4), 46, 44])).rejects.toThrow('{"asn":45}');
  await expect(run("unknown.json", young.slice(0, 3))).rejects.toThrow(
    '{"geolocation":60,"asn":45,"as-metadata":45}',
  );
});

withPrograms("feeds that did not arrive are listed", ["jq"], true, async () => {
  const [check = ""] = blocks("Feeds that did not arrive");
  const here = temporaryFolder();
  const printed = async (update: object, code: number) => {
    const stub = `inkling() { echo '${JSON.stringify({ missing: ["x"], ...update })}'; return ${code}; }`;
    await run(["sh", "-ec", `${stub}\n${check}`], here);
    return readFileSync(join(here, "feeds.txt"), "utf8");
  };
  expect(await printed({ held: [], failed: [], unreached: [] }, 0)).toBe("");
  expect(await printed({ held: ["a"], failed: [], unreached: ["b", "c"] }, 3)).toBe(
    "held: a\nunreached: b, c\n",
  );
  await expect(printed({}, 1)).rejects.toThrow();
});

test("history: the exports of a day, in its folder", async () => {
  const [script = "", , joinDays = ""] = blocks("History");
  await shell(`release=${releaseId}\n${script}`);
  expect(readdirSync(join(folder, "history"))).toEqual([expect.stringMatching(/^day=\d{4}-\d\d-\d\d$/)]);
  const [day = ""] = readdirSync(join(folder, "history"));
  expect(readdirSync(join(folder, "history", day)).sort()).toEqual([
    "countries.parquet",
    "disposable.parquet",
    "network.parquet",
    "reputation.parquet",
  ]);

  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const inFolder = (text: string) =>
    text.replaceAll(/'((?:history|visits-|joined-)[^']*)'/g, `'${folder}/$1'`);
  const date = day.replace("day=", "");
  await connection.run(
    inFolder(`COPY (SELECT unnest(['${PROXY}', '${OTHER}']) AS ip) TO 'visits-${date}.parquet'`),
  );
  writeFileSync(join(folder, "join.sql"), blocks("DuckDB")[1]!.replace(/;\s*$/, "\n"));
  program("duckdb", `cat >> "${folder}/joining.sql"; touch joining.parquet`);
  await shell(joinDays);
  await shell(joinDays); // skips the day
  await connection.run(
    inFolder(readFileSync(join(folder, "joining.sql"), "utf8")).replace(
      "joining.parquet",
      join(folder, `joined-${date}.parquet`),
    ),
  );
  const joined = await connection.runAndReadAll(inFolder(`FROM 'joined-${date}.parquet' ORDER BY ip DESC`));
  expect(joined.getRows()).toEqual([
    [PROXY, "GB", true, OWNER],
    [OTHER, null, null, null],
  ]);
});

test("licences: a CSV and standard error have the attributions in the sample", async () => {
  const [sample = ""] = blocks("Licences");
  const [, ...texts] = sample.trim().split("\n");
  const feeds = texts.map((text) => FEEDS.find(({ attribution }) => attribution === text)!);
  expect(feeds.map(({ id }) => id)).toEqual(["dbip-city-lite", "nro-delegated-stats", "asn"]);
  const dataDir = temporaryFolder();
  smallRelease(
    dataDir,
    1,
    [],
    feeds.map(({ id, sets, licence, attribution }) => {
      const report = { id, sets, licence, source: "seed", state: "loaded", entries: 1 } as const;
      return { ...report, ...(attribution !== undefined && { attribution }) };
    }),
  );
  const csv = (out: string) =>
    shell(`inkling export csv --data-dir "${dataDir}" --out ${out} 2>&1 >/dev/null`);
  const errors = [await csv("licensed.csv"), await csv("-")];
  for (const error of errors) expect(error).toBe(`${texts.join("\n")}\n`);
  const [head, ...others] = readFileSync(join(folder, "licensed.csv.attribution.txt"), "utf8")
    .trim()
    .split("\n");
  expect(head).toMatch(/^Inkling, release \w+-[0-9a-f]{12}$/);
  expect(sample).toMatch(/^Inkling, release \w+-[0-9a-f]{12}$/m);
  expect(others).toEqual(texts);
});

withPrograms("feeds that state no licence: disabled, and enabled again", ["jq"], true, async () => {
  const [, disable] = blocks("Licences").slice(1);
  const [, undo = ""] = /`(inkling feeds enable --yes .*?)`/.exec(PAGE) ?? [];
  const dataDir = temporaryFolder();
  const at = (script: string) => shell(script.replaceAll(/inkling feeds \w+/g, `$& --data-dir "${dataDir}"`));
  const off = async () =>
    JSON.parse(await at("inkling feeds list --json"))
      .unused.filter((feed: { on: boolean; on_by_default: boolean }) => feed.on_by_default && !feed.on)
      .map(({ id }: { id: string }) => id);
  await at(disable!.replace("inkling data update\n", ""));
  const stated = FEEDS.filter(({ licence }) => !/none stated|no licence stated/.test(licence));
  const unstated = (await off()) as string[];
  expect(unstated.length).toBeGreaterThan(30);
  expect(stated.filter(({ id }) => unstated.includes(id))).toEqual([]);
  await at(undo);
  expect(await off()).toEqual([]);
});

test("MaxMind's files: its own reader opens them", async () => {
  const page = readFileSync(join(ROOT, "docs/maxmind.md"), "utf8");
  const [, commands] = /^## Replace the files[\s\S]*?^```sh\n([\s\S]*?)^```$/m.exec(page)!;
  const withNetwork = temporaryFolder();
  smallRelease(withNetwork, 1, [], [], true);
  await shell(commands!.replaceAll("--out", `--data-dir "${withNetwork}" --out`));
  const open = (name: string) => Reader.open(join(folder, `${name}.mmdb`));
  const city = (await open("GeoLite2-City")).city(PROXY);
  expect([city.city?.names.en, city.country?.isoCode]).toEqual([smallCity(1), "GB"]);
  expect((await open("GeoLite2-Country")).country(PROXY).country?.isoCode).toBe("GB");
  expect((await open("GeoLite2-ASN")).asn(PROXY).autonomousSystemNumber).toBe(20_712);
  const { isAnonymous, isAnonymousVpn } = (await open("GeoIP2-Anonymous-IP")).anonymousIP(PROXY);
  expect([isAnonymous, isAnonymousVpn]).toEqual([true, true]);
  const sdk = "@maxmind/geoip2-node";
  tried(import.meta.path, sdk, sdk, "files of `inkling export mmdb`, as in maxmind.md");
});

test("after each release: an export for each name in `current`", async () => {
  const files = join(folder, "firewall");
  const script = blocks("After each release")[0]!
    .replaceAll("/var/lib/inkling-firewall", files)
    .replaceAll("/var/lib/inkling/", `${data}/`);
  const asScript = () => shell(script, "-c"); // cron runs it without -e
  for (let i = 0; i < 2; i++) await asScript();
  expect(calls()).toEqual(["nft -f inkling.nft"]);
  writeFileSync(join(files, "exported"), "an older one\n");
  await asScript();
  expect(calls()).toEqual(["nft -f inkling.nft"]);
  for (const path of ["exported", "inkling.nft"]) expect(existsSync(join(folder, path))).toBe(false);

  writeFileSync(join(files, "exported"), "an older one\n");
  const failing = script.replace("inkling export", "no-such-inkling export");
  expect(failing).not.toBe(script);
  await expect(shell(failing, "-c")).rejects.toThrow("no-such-inkling");
  expect(readFileSync(join(files, "exported"), "utf8")).toBe("an older one\n");
});

test("a firewall: the rules name sets and a table of the export", async () => {
  const [block] = blocks("Firewall");
  await shell(block!);
  const [load, , ...rules] = calls();
  const exported = readFileSync(join(folder, "inkling.nft"), "utf8");
  expect(load).toBe("nft -f inkling.nft");
  expect(rules).toHaveLength(2);
  for (const rule of rules) {
    const [, table, set] = /^nft add rule (inet \w+) input ip6? saddr @(\w+) drop$/.exec(rule) ?? [];
    expect(exported).toContain(`flush set ${table} ${set}\n`);
  }
});

test("ClickHouse: the file that is run begins with a query of what it makes", async () => {
  const files = temporaryFolder();
  await shell(blocks("ClickHouse")[0]!.replaceAll("/var/lib/clickhouse/user_files", files));
  const sql = readFileSync(calls()[0]!.split(" ").at(-1)!, "utf8");
  const [documented] = /dictGet.* AS country/.exec(blocks("ClickHouse")[2]!)!;
  expect(sql).toContain(documented);
  const [, dictionary, column] = /^-- .*dictGet\('(\w+)', '(\w+)'/m.exec(sql) ?? [];
  expect(sql).toMatch(new RegExp(`DICTIONARY ${dictionary}\\n[^;]*\\n    ${column} `));
});

withPrograms("nginx: flags and countries", ["nginx"], existsSync(GEOIP2), async () => {
  const etc = temporaryFolder();
  const [socket, application] = [join(etc, "nginx.sock"), join(etc, "application.sock")];
  const tor = temporaryFolder();
  smallRelease(tor, 2); // its network is a Tor exit in GB
  const [exports, http] = blocks("nginx").map((text) => text.replaceAll("/etc/nginx", etc));
  await shell(exports!.replaceAll("--out", `--data-dir "${tor}" --out`));
  const config = http!
    .replace("listen 80", `listen unix:${socket}`)
    .replace("http://127.0.0.1:3000", `http://unix:${application}`);
  writeFileSync(
    join(etc, "nginx.conf"),
    `load_module ${GEOIP2}; user root; daemon off; worker_processes 1; pid ${etc}/pid; events {}
    http { access_log off; set_real_ip_from unix:; real_ip_header X-Visitor; ${config} }`,
  );
  const nginx = ["nginx", "-e", join(etc, "error.log"), "-p", etc, "-c", join(etc, "nginx.conf")];
  await run([...nginx, "-t"], etc);
  const upstream = Bun.serve({
    unix: application,
    fetch: ({ headers }) => new Response(headers.get("Inkling-Country")),
  });
  const running = Bun.spawn(nginx, { stdio: ["ignore", "ignore", "ignore"] });
  try {
    const visit = async (ip: string) => {
      const response = await globalThis.fetch("http://shop/", { unix: socket, headers: { "X-Visitor": ip } });
      return response.ok ? await response.text() : response.status;
    };
    const answers = (ip: string) => visit(ip).catch(() => undefined); // undefined until nginx listens
    await until(async () => (await answers(PROXY)) !== undefined);
    expect([await visit(PROXY), await visit(OTHER)]).toEqual([403, ""]);
    // Without a flag, the application gets the country.
    await shell(exports!); // of release 1, whose network is no Tor exit
    running.kill("SIGHUP");
    await until(async () => (await answers(PROXY)) === "GB");
    tried(import.meta.path, "nginx", ["nginx", "-v"], "flags and countries from exports, as in exports.md");
  } finally {
    running.kill();
    await running.exited;
    await upstream.stop();
  }
});

let postgres: Postgres | undefined;
afterAll(() => postgres?.close());

withPrograms("PostgreSQL: every visit stays one row", ["psql"], true, async () => {
  postgres = await Postgres.create();
  const visits = `CREATE TABLE visits (id int, ip inet);
INSERT INTO visits VALUES (1, '${PROXY}'), (2, '${OTHER}'), (3, '2001:db8::1');\n`;
  const psql = async (name: string, sql: string) => {
    writeFileSync(join(folder, name), sql);
    return shell(`psql --no-psqlrc -v ON_ERROR_STOP=1 -qAt "${postgres!.url()}" -f ${name} | sort`);
  };
  const [tables, load, , age = "", joined, convert, stale = ""] = blocks("PostgreSQL");
  const [, , , , view = "", replaceDay = "", loadDay = ""] = blocks("History");
  /** Runs a page's psql commands on this database. */
  const onDatabase = (script: string) =>
    shell(`export PGURL="${postgres!.url()}"\n${script.replaceAll(/^psql/gm, 'psql "$PGURL"')}`);
  writeFileSync(
    join(folder, "dates.json"),
    `{"${readFileSync(join(data, "current"), "utf8").trim()}":{"is_proxy":"2026-01-01T00:00:00Z"}}`,
  );
  await psql("tables.sql", `${visits}${tables}${convert}`);
  expect(await onDatabase(stale)).toBe("inkling: no load in 26 hours\n");
  writeFileSync(join(folder, "load.sql"), load!);
  await onDatabase(`release=${releaseId}\n${nightly("PostgreSQL")}`);
  expect(await onDatabase(stale)).toBe("");
  for (const text of [load!, load!.replaceAll("TRUNCATE", "DELETE FROM")]) {
    await psql("load.sql", text);
    expect(await psql("join.sql", joined!)).toBe(
      `1|${PROXY}|GB|${smallCity(1)}|t|${OWNER}\n2|${OTHER}||||\n3|2001:db8::1||||\n`,
    );
  }
  expect(await psql("age.sql", age)).toMatch(/\|is_proxy\|\d+ days/);
  const [release] = readFileSync(join(folder, "places.csv.attribution.txt"), "utf8").split("\n");
  expect(await psql("loads.sql", "SELECT DISTINCT 'Inkling, release ' || release FROM loads")).toBe(
    `${release}\n`,
  );
  for (const [table, file] of Object.entries({ places: "places", owners: "owners" }))
    expect(await psql("comment.sql", `SELECT obj_description('${table}'::regclass)`)).toContain(
      readFileSync(join(folder, `${file}.csv.attribution.txt`), "utf8").split("\n")[0]!,
    );

  await psql(
    "view.sql",
    `ALTER TABLE visits ADD day date DEFAULT '2026-11-29'; UPDATE visits SET day = '2026-11-28' WHERE id = 2;
${view.replace("SELECT …;     -- the join", joined!)}`,
  );
  writeFileSync(join(folder, "joined.sql"), replaceDay);
  for (const day of ["2026-11-28", "2026-11-29", "2026-11-29"]) await onDatabase(`DAY=${day}\n${loadDay}`);
  await onDatabase(loadDay); // yesterday, which has no visits
  expect(await psql("days.sql", "SELECT id, day, country_iso_code FROM joined")).toBe(
    "1|2026-11-29|GB\n2|2026-11-28|\n3|2026-11-29|\n",
  );
  await psql("undo.sql", "DROP VIEW visits_today; ALTER TABLE visits DROP COLUMN day;");
  await psql("old.sql", "UPDATE loads SET loaded_at = loaded_at - interval '27 hours'");
  expect(await onDatabase(stale)).toBe("inkling: no load in 26 hours\n");
  await onDatabase(`release=${earlierId}\n${nightly("PostgreSQL").replace(/^previous=[\s\S]*/m, "")}`);
  expect(await psql("age.sql", age)).toMatch(/\|\|$/m); // no dates of this release
  expect(await psql("join.sql", joined!)).toContain(`1|${PROXY}|GB|${smallCity(0)}|f|`);
  const [back = ""] = blocks("Previous files");
  const [kept = ""] = readdirSync(join(folder, "previous"));
  mkdirSync(join(folder, "exports-home"));
  symlinkSync(folder, join(folder, "exports-home/exports"));
  const here = `export HOME="${folder}/exports-home"\n`;
  expect(await onDatabase(`${here}${back.replace("2026-11-29", kept)}`)).toMatch(/is_proxy[\s\S]*2 rows/);
  expect(await psql("join.sql", joined!)).toContain(`1|${PROXY}|GB|${smallCity(1)}|t|`);
  const [version] = (await psql("version.sql", "SHOW server_version")).split(".");
  expect(PAGE).toContain(`| PostgreSQL ${version} |`);
  const asText = joined!.replaceAll(/(?<=<?= )ip\b/g, "inet_or_null(ip)");
  expect(asText.match(/inet_or_null/g)).toHaveLength(6);
  await psql(
    "text.sql",
    `ALTER TABLE visits ALTER ip TYPE text; UPDATE visits SET ip = '-' WHERE id = 3; INSERT INTO visits VALUES (4, '::FFFF:${PROXY}');`,
  );
  expect(await psql("join.sql", asText)).toBe(
    `1|${PROXY}/32|GB|${smallCity(1)}|t|${OWNER}\n2|${OTHER}/32||||\n3|-||||\n4|::FFFF:${PROXY}|GB|${smallCity(1)}|t|${OWNER}\n`,
  );

  const listed = smallDomain(1);
  const emails = [`a@${listed}`, `b@Mail.${listed.toUpperCase()} `, `c@x${listed}`, "d", "e@com"];
  const signups = `CREATE TABLE signups (email text);
INSERT INTO signups VALUES ${emails.map((email) => `('${email}')`)}, (NULL);\n`;
  const [, domains] = blocks("Email addresses");
  const rows = emails.map((email, i) => (i < 2 ? `${email}|t|${listed}` : `${email}|f|`));
  const found = await psql("emails.sql", `${signups}${domains}`);
  expect(found.trimEnd().split("\n").toSorted()).toEqual([...rows, "|f|"].toSorted());
  tried(import.meta.path, "PostgreSQL", postgres.version, "joins with CSV exports, as in warehouses.md");
});
