// Runs the lines of docs/warehouses.md in ClickHouse, which the package chdb has as a library.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HOW_TO_INSTALL, hasPeer, PEERS, peerPath } from "../../../../test/harness/peers.ts";
import { run } from "../../../../test/harness/published-packages.ts";
import { tried } from "../../../../test/harness/recorded-rows.ts";
import { SMALL_NETWORK, smallDomain, smallFlag, smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../../../cli/src/program.testing.ts";

const PAGE = readFileSync(join(import.meta.dir, "../../../../docs/warehouses.md"), "utf8");
const USER_FILES = "/var/lib/clickhouse/user_files";
const ADDRESS = SMALL_NETWORK.replace("0/24", "142");

/** Returns the rows of each query. chdb reads only files in the current folder, so it runs in its own process. */
async function rowsOf(queries: readonly string[], folder: string): Promise<unknown[][]> {
  const script = `import { Session } from ${JSON.stringify(join(PEERS, "chdb/index.mjs"))};
    const session = new Session(${JSON.stringify(join(temporaryFolder(), "chdb"))});
    const texts = JSON.parse(process.argv[1]).map((query) => session.query(query, "JSONCompactEachRow"));
    session.close();
    console.log(JSON.stringify(texts));`;
  const out = await run(["node", "--input-type=module", "-e", script, JSON.stringify(queries)], folder);
  return (JSON.parse(out) as string[]).map((text) =>
    text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  );
}

const how = hasPeer("chdb") ? "" : `: needs ${HOW_TO_INSTALL}`;
test.if(how === "")(
  `ClickHouse looks up what the export holds, as docs/warehouses.md says${how}`,
  async () => {
    const [folder, dataDir] = [temporaryFolder(), temporaryFolder()];
    smallRelease(dataDir, 1, [], [], true);
    const section = PAGE.split("\n## ClickHouse\n")[1]!.split("\n### ")[0]!;
    const [, exporting = "", loading = ""] =
      /```sh\ninkling (.*)\nclickhouse-client --queries-file (.*)\n```/.exec(section) ?? [];
    const here = (text: string) => text.replaceAll(USER_FILES, folder);
    const env = { INKLING_DATA_DIR: dataDir };
    expect((await runHere(here(exporting).split(" "), { env, cwd: folder })).code).toBe(0);

    const ordered = (query: string) => `${query.replace(/;\s*$/, "")} ORDER BY 1`;
    const joined = ordered(/```sql\n(.*?)\n```/s.exec(section)![1]!).replace("is_proxy", smallFlag(1));
    const domains = ordered(PAGE.split("For ClickHouse:\n\n```sql\n")[1]!.split("```")[0]!);
    const [, stored = ""] = /```sql\n(ALTER TABLE visits ADD COLUMN .*?);\n```/s.exec(section) ?? [];
    const keys = [...section.matchAll(/`(tuple\(ip\)|tuple\(\w+\(ifNull.*?\)\)\)?)`/g)].map(
      ([, key]) => key!,
    );
    expect(keys).toHaveLength(2);
    const typed = (key: string, type: string) =>
      `SELECT dictGet('inkling_geolocate', 'country_iso_code', ${key})
    FROM values('ip ${type}', '${ADDRESS}', ${type.startsWith("Null") ? "NULL" : "'8.8.8.8'"})`;
    const [, stale = ""] = /```sql\n(SELECT name, last_successful_update_time.*?);\n```/s.exec(PAGE) ?? [];
    const [, names = "", one = ""] = /^for dictionary in (.*); do\n.*--query "(SYSTEM .*?)"/m.exec(section)!;
    const reload = names
      .split(" ")
      .map((name) => one.replace("$dictionary", name))
      .join("; ");
    const listed = smallDomain(1);
    const emails = [`a@${listed}`, `b@Mail.${listed.toUpperCase()} `, "c@gmail.com", `d@x${listed}`, "e"];
    const rows = await rowsOf(
      [
        here(readFileSync(here(loading), "utf8")),
        "CREATE TABLE visits (ip String) ENGINE = Memory",
        `INSERT INTO visits VALUES ('${ADDRESS}'), ('8.8.8.8'), ('2a02:8010::1'), ('-')`,
        "CREATE TABLE stored (ip String) ENGINE = MergeTree ORDER BY ip",
        "CREATE TABLE signups (email String) ENGINE = Memory",
        `INSERT INTO signups VALUES ${emails.map((email) => `('${email}')`)}`,
        joined,
        domains,
        reload,
        joined,
        "SELECT version()",
        ...["IPv4", "IPv6"].map((type) => typed(keys[0]!, type)),
        typed(keys[1]!, "Nullable(String)"),
        stored.replace("visits", "stored"),
        `INSERT INTO stored (ip) VALUES ('${ADDRESS}')`,
        "SELECT *, country FROM stored",
        stale.replace("- INTERVAL 26 HOUR", "+ INTERVAL 26 HOUR"),
        stale,
      ],
      folder,
    );
    const found = [
      ["-", "", false, ""],
      ["2a02:8010::1", "", false, "Andrews & Arnold Ltd"],
      ["8.8.8.8", "", false, ""],
      [ADDRESS, "GB", true, ""],
    ];
    expect([rows[6], rows[9]]).toEqual([found, found]);
    const [version] = /^\d+\.\d+/.exec(String(rows[10]))!;
    for (const text of [`in ClickHouse ${version} (chdb)`, `| ClickHouse ${version}, as the library chdb |`])
      expect(PAGE).toContain(text);
    expect(rows.slice(11, 14)).toEqual([1, 2, 3].map(() => [["GB"], [""]]));
    expect(rows.at(-3)).toEqual([[ADDRESS, "GB"]]);
    const reloaded = (rows.at(-2) as unknown[][]).map(([name]) => name);
    expect(reloaded).toEqual(expect.arrayContaining(["inkling_geolocate", "inkling_email"]));
    expect(rows.at(-1)).toEqual([]);
    expect(rows[7]).toEqual(emails.map((email, i) => (i < 2 ? [email, 1, listed] : [email, 0, ""])));
    tried(
      import.meta.path,
      "ClickHouse (chdb)",
      peerPath("chdb"),
      "`IP_TRIE` dictionaries from the export, as in warehouses.md",
    );
  },
);

test.if(how === "")(
  `ClickHouse reads a dictionary from a table, as docs/warehouses.md says${how}`,
  async () => {
    const [folder, dataDir] = [temporaryFolder(), temporaryFolder()];
    smallRelease(dataDir, 1);
    const section = PAGE.split("\n### Remote ClickHouse\n")[1]!;
    const [, create = ""] = /```sql\n(.*?)```/s.exec(section) ?? [];
    const [, script = ""] = /```sh\n(.*?)```/s.exec(section) ?? [];
    const [exporting, ...loading] = script.trim().split("\n");
    const statements = loading.map((line) => /--query "(.*?)"(?: < (\S+))?$/.exec(line)!);
    const [, others = ""] = /^For other columns, (.*?)\n\n/ms.exec(section) ?? [];
    const columns = [...others.matchAll(/`((\w+) \w+ DEFAULT \w+)`/g)];
    expect(columns).toHaveLength(4);

    /** Returns what the dictionary has for an address in the export and for another, with one more column. */
    async function load(lookup: string, column: string, definition: string): Promise<unknown[]> {
      const file = join(folder, "countries.csv");
      const exported = exporting!.replace("inkling ", "").replace("--release $release ", "");
      const args = exported
        .replace("--columns country_iso_code", `--lookup ${lookup} --columns ${column}`)
        .replace("countries.csv", file);
      expect((await runHere(args.split(" "), { env: { INKLING_DATA_DIR: dataDir }, cwd: folder })).code).toBe(
        0,
      );
      const made = create.replaceAll(/country_iso_code String(?: DEFAULT '')?/g, definition);
      const rows = await rowsOf(
        [
          ...made.split(/;\n/).filter((text) => text.trim() !== ""),
          ...statements.map(([, query = "", from]) =>
            from === undefined ? query : `${query}\n${readFileSync(file, "utf8")}1.2.3.0/24,\n`,
          ),
          `SELECT toString(dictGet('inkling_countries', '${column}', tuple(IPv6StringToNumOrDefault(ip))))
    FROM values('ip String', '${ADDRESS}', '1.2.3.4')`,
        ],
        folder,
      );
      return rows.at(-1)!;
    }
    expect(await load("geolocate", "country_iso_code", "country_iso_code String DEFAULT ''")).toEqual([
      ["GB"],
      [""],
    ]);
    const [latitude, radius, , proxy] = columns;
    expect((await load("geolocate", latitude![2]!, latitude![1]!))[1]).toEqual(["nan"]);
    expect((await load("geolocate", radius![2]!, radius![1]!))[1]).toEqual(["nan"]);
    expect(await load("reputation", proxy![2]!, proxy![1]!)).toEqual([["true"], ["false"]]);
  },
);
