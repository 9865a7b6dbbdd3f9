// Tests `inkling export …` as users run it, on a small release with one network, one flag and one domain.

import { describe, expect, spyOn, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NO_FLAGS, REPUTATION_FLAGS } from "@inkling/contract";
import { AtomicFile, openServable } from "@inkling/data";
import { formatPrefix, Overrides, parseIp, RangeColumns } from "@inkling/engine";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { smallCity, smallDomain, smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../../../cli/src/program.testing.ts";
import { Mmdb } from "../../../compiler/src/mmdb/mmdb.ts";
import { csvField } from "./csv.ts";
import { FORMATS, writeExport } from "./export.ts";
import { chosenColumns, type ExportFormat, networks, type Piece, type Request } from "./format.ts";
import { ExportSource } from "./source.ts";

/** The warning at the first change in a data folder, or no message at all. */
const CREATES_DATABASE = /^(warning: creating a new database at .*; .*\n)?$/;
const temp = temporaryFolder();
const dataDir = join(temp, "data");
const N = 1; // the network has the flag is_proxy
smallRelease(dataDir, N);

const inkling = (...args: string[]) => runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp });

/** Runs one export. @returns the content of its files by name */
async function exported(form: string, ...args: string[]): Promise<Record<string, Buffer>> {
  const folder = temporaryFolder();
  const isFolder = FORMATS.find(({ name }) => name === form)!.isFolder;
  const { err, code } = await inkling(
    "export",
    form,
    "--out",
    isFolder ? folder : join(folder, "x"),
    ...args,
  );
  expect([err.replace(/^warning: .*\n/gm, ""), code]).toEqual(["", 0]);
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

const text = async (form: string, ...args: string[]) => String((await exported(form, ...args)).x);

describe("forms", () => {
  test("csv of places", async () => {
    const files = await exported("csv");
    const [header, ...rows] = String(files.x).trim().split("\n");
    expect(header!.split(",").slice(0, 4)).toEqual([
      "network",
      "continent_code",
      "continent_name",
      "country_iso_code",
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toStartWith("81.2.69.0/24,EU,Europe,GB,");
    expect(rows[0]).toContain(`,${smallCity(N)},`);
    expect(String(files["x.attribution.txt"])).toStartWith("Inkling, release 2026");
  });

  test("csv of flags and of domains", async () => {
    expect(await text("csv", "--lookup", "reputation")).toBe(
      `network,${REPUTATION_FLAGS}\n81.2.69.0/24,${Object.values({ ...NO_FLAGS, is_proxy: true })}\n`,
    );
    expect(await text("csv", "--lookup", "email")).toBe(
      `domain,providers\n${smallDomain(N)},${smallDomain(N)}\n`,
    );
  });

  test("nginx", async () => {
    const flags = await text("nginx");
    expect(flags).toContain("geo $inkling_is_proxy {\n    default 0;\n    81.2.69.0/24 1;\n}\n");
    expect(flags).toContain("geo $inkling_is_tor_exit {\n    default 0;\n}\n");
    expect(await text("nginx", "--lookup", "geolocate")).toContain(
      'geo $inkling_country {\n    default "";\n    81.2.69.0/24 GB;\n}\n',
    );
  });

  test("haproxy", async () => {
    expect(await text("haproxy")).toEndWith("\n81.2.69.0/24 is_proxy\n");
    expect(await text("haproxy", "--lookup", "geolocate")).toEndWith("\n81.2.69.0/24 GB\n");
    expect(await text("haproxy", "--lookup", "email")).toEndWith(`\n${smallDomain(N)} ${smallDomain(N)}\n`);
  });

  test("ipset and nftables: a set for each flag and family, empty ones too", async () => {
    const ipset = await text("ipset");
    expect(ipset.match(/^create inkling_\w+_v[46] /gm)).toHaveLength(2 * REPUTATION_FLAGS.length);
    expect(ipset).toContain(
      "add inkling_is_proxy_v4_new 81.2.69.0/24\nswap inkling_is_proxy_v4_new inkling_is_proxy_v4\n",
    );
    const nft = await text("nftables");
    expect(nft.match(/^flush set /gm)).toHaveLength(2 * REPUTATION_FLAGS.length);
    expect(nft.match(/^add element .*$/gm)).toEqual(["add element inet inkling is_proxy_v4 {"]);
  });

  test("mmdb", async () => {
    const city = Mmdb.open((await exported("mmdb")).x!);
    expect(city.decode(city.find(parseIp("81.2.69.142")!)!.dataOffset)).toMatchObject({
      city: { names: { en: smallCity(N) } },
    });
    const flags = Mmdb.open((await exported("mmdb", "--lookup", "reputation")).x!);
    expect(flags.decode(flags.find(parseIp("81.2.69.142")!)!.dataOffset)).toEqual({
      ...NO_FLAGS,
      is_proxy: true,
    });
  });

  test("mmdb of a type that readers know by name", async () => {
    const db = async (type: string, ...args: string[]) =>
      Mmdb.open((await exported("mmdb", "--database-type", type, ...args)).x!);
    const record = (file: Mmdb, address: string) => {
      const found = file.find(parseIp(address)!);
      return found === undefined ? undefined : file.decode(found.dataOffset);
    };
    const place = (await exported("mmdb")).x!;
    for (const type of ["GeoLite2-City", "GeoIP2-City"]) {
      const city = await db(type);
      expect(city.metadata.databaseType).toBe(type);
      expect(record(city, "81.2.69.142")).toEqual(record(Mmdb.open(place), "81.2.69.142"));
    }
    for (const type of ["GeoLite2-Country", "GeoIP2-Country"]) {
      const country = await db(type, "--lookup", "geolocate");
      expect(country.metadata.databaseType).toBe(type);
      expect(record(country, "81.2.69.142")).toEqual({
        continent: { code: "EU", names: { en: "Europe" } },
        country: { iso_code: "GB", names: { en: "United Kingdom" } },
      });
    }
    const own = join(temp, "data-anonymous");
    smallRelease(own, N);
    for (const [address, ...flags] of [
      ["8.8.4.4", "is_tor_exit=true"],
      ["8.8.4.5", "is_abuser=true"],
      ["8.8.4.6", "is_proxy=true"],
      ["81.2.69.9", "is_proxy=false"],
    ]) {
      const args = flags.flatMap((flag) => ["--flag", flag]);
      const added = await inkling("overrides", "add", address!, ...args, "--note", "n", "--data-dir", own);
      expect(added.err).toMatch(CREATES_DATABASE);
    }
    const anonymous = await db("GeoIP2-Anonymous-IP", "--data-dir", own);
    expect(anonymous.metadata.databaseType).toBe("GeoIP2-Anonymous-IP");
    // Records only have fields that are true and known. An override does not state the kind of proxy.
    const rows: [address: string, record: object | undefined][] = [
      ["81.2.69.8", { is_anonymous: true, is_anonymous_vpn: true }],
      ["81.2.69.9", undefined],
      ["8.8.4.4", { is_anonymous: true, is_tor_exit_node: true }],
      ["8.8.4.5", undefined],
      ["8.8.4.6", { is_anonymous: true }],
      ["8.8.4.7", undefined],
    ];
    expect(rows.map(([address]) => [address, record(anonymous, address)])).toEqual(rows);
  });

  test("csv and parquet with some columns", async () => {
    const csv = await text("csv", "--columns", "city_name, country_*");
    expect(csv).toBe(
      `network,country_iso_code,country_name,city_name\n81.2.69.0/24,GB,United Kingdom,${smallCity(N)}\n`,
    );
    const file = (await exported("parquet", "--columns", "country_iso_code")).x!;
    const { schema } = parquetMetadata(Uint8Array.from(file).buffer);
    const names = schema.slice(1).map(({ name }) => name);
    expect(names).toEqual(["network", "first", "last", "first_ipv4", "last_ipv4", "country_iso_code"]);
  });

  describe("with some columns", () => {
    /** Exports 10.0.0.0/24 and the networks after it, one for each answer. */
    function rows(lookup: "geolocate" | "reputation", answers: readonly object[], columns: string): string {
      const v4 = new RangeColumns(4, 8);
      const v6 = new RangeColumns(6, 1);
      v4.append(0, 0, 0, 0, 0);
      v6.append(0, 0, 0, 0, 0);
      for (const i of answers.keys()) v4.append((10 << 24) + (i << 8), 0, 0, 0, i + 1);
      v4.append((10 << 24) + (answers.length << 8), 0, 0, 0, 0);
      const ranges = { v4, v6, answers: ["", ...answers.map((answer) => JSON.stringify(answer))] };
      const source = {
        *ranges() {
          yield;
          return ranges;
        },
      } as unknown as ExportSource; // all that the format calls
      const about = { unknown: [], attributions: [], release: "r", builtAt: 0 };
      const pieces = FORMATS.find(({ name }) => name === "csv")!.pieces({
        ...about,
        source,
        lookup,
        columns: chosenColumns(columns, lookup),
      });
      return [...pieces]
        .filter(({ file }) => file === "")
        .map(({ data }) => data)
        .join("");
    }

    test("neighbours with the same values become one row, and networks without values none", () => {
      const gb = { country: { iso_code: "GB" } };
      const answers = [{ ...gb, city: { name: "A" } }, gb, {}];
      expect(rows("geolocate", answers, "country_iso_code")).toBe(
        "network,country_iso_code\n10.0.0.0/23,GB\n",
      );
      expect(rows("geolocate", answers, "city_name")).toBe("network,city_name\n10.0.0.0/24,A\n");
    });

    test("networks for which all chosen flags are false or unknown are left out", () => {
      const answers = [
        { is_abuser: true, is_proxy: false },
        { is_abuser: true, is_proxy: true, is_tor_exit: false },
        { is_proxy: false, is_tor_exit: true },
      ];
      expect(rows("reputation", answers, "is_proxy")).toBe("network,is_proxy\n10.0.1.0/24,true\n");
      expect(rows("reputation", answers, "is_proxy,is_tor_exit")).toBe(
        "network,is_proxy,is_tor_exit\n10.0.1.0/24,true,false\n10.0.2.0/24,false,true\n",
      );
    });
  });

  test("parquet", async () => {
    const rows = async (lookup: string) => {
      const bytes = (await exported("parquet", "--lookup", lookup)).x!;
      return parquetReadObjects({
        file: new Uint8Array(bytes).buffer,
        compressors: { ZSTD: (data) => Bun.zstdDecompressSync(data) },
      });
    };
    expect(await rows("reputation")).toEqual([
      {
        network: "81.2.69.0/24",
        first: "00000000000000000000ffff51024500",
        last: "00000000000000000000ffff510245ff",
        first_ipv4: 1359103232n,
        last_ipv4: 1359103487n,
        ...NO_FLAGS,
        is_proxy: true,
      },
    ]);
    expect(await rows("email")).toEqual([{ domain: smallDomain(N), providers: smallDomain(N) }]);
    expect(await rows("geolocate")).toMatchObject([{ city_name: smallCity(N), postal_code: null }]);
  });

  test("clickhouse: the columns of each file are those of its dictionary", async () => {
    const files = await exported("clickhouse");
    const sql = String(files["inkling.sql"]);
    for (const lookup of ["geolocate", "reputation", "email"]) {
      const header = String(files[`inkling_${lookup}.csv`]).split("\n", 1)[0]!;
      const [, columns] = new RegExp(`DICTIONARY inkling_${lookup}\\n\\(\\n(.*?)\\n\\)`, "s").exec(sql)!;
      expect(columns!.match(/^ {4}\w+/gm)!.map((name) => name.trim())).toEqual(header.split(","));
    }
    expect(sql.match(/LAYOUT\(IP_TRIE\)/g)).toHaveLength(2);
    // IP_TRIE refuses Nullable columns, and it would read an empty field as 0° north, 0° east.
    expect(sql).not.toContain("Nullable");
    expect(String(files["inkling_geolocate.csv"])).toEndWith(`,${smallCity(N)},,nan,nan,nan,Europe/London\n`);
  });

  describe("networks", () => {
    const own = join(temp, "data-networks");
    smallRelease(own, N, [], [], true);
    const here = ["--data-dir", own];

    test("csv", async () => {
      expect(await text("csv", "--lookup", "network", ...here)).toBe(
        `network,network_asn,network_organization,network_kind,network_shared,network_services,network_operator
81.2.69.0/25,20712,"Andrews & Arnold, Ltd",unknown,false,,
81.2.70.0/25,4100000001,,unknown,false,,
81.2.70.128/25,4100000001,,unknown,true,relay,
2a02:8010::/32,20712,Andrews & Arnold Ltd,unknown,false,,
`,
      );
    });

    test("parquet: numbers of systems beyond 2^31", async () => {
      const bytes = (await exported("parquet", "--lookup", "network", ...here)).x!;
      const file = new Uint8Array(bytes).buffer;
      const compressors = { ZSTD: (data: Uint8Array) => Bun.zstdDecompressSync(data) };
      const rows = await parquetReadObjects({ file, compressors });
      const asns = rows.map(({ network_asn }) => network_asn);
      expect(asns).toEqual([20712n, 4100000001n, 4100000001n, 20712n]);
      expect(rows[2]).toMatchObject({
        network: "81.2.70.128/25",
        network_organization: null,
        network_shared: true,
        network_services: "relay",
      });
      const [, , , , , asn] = parquetMetadata(file).row_groups[0]!.columns;
      expect(asn!.meta_data!.statistics).toMatchObject({ min_value: 20712n, max_value: 4100000001n });
    });

    test("mmdb: all facts, or as readers of GeoLite2-ASN expect them", async () => {
      const db = async (...args: string[]) => Mmdb.open((await exported("mmdb", ...args, ...here)).x!);
      const all = await db("--lookup", "network");
      const systems = await db("--database-type", "GeoLite2-ASN");
      expect([all.metadata.databaseType, systems.metadata.databaseType]).toEqual([
        "Inkling-Network",
        "GeoLite2-ASN",
      ]);
      const record = (file: Mmdb, address: string) => {
        const found = file.find(parseIp(address)!);
        return found && file.decode(found.dataOffset);
      };
      const facts = { kind: "unknown", shared: false, services: [] };
      const wide = { asn: 4100000001, ...facts };
      const aa = { asn: 20712, organization: "Andrews & Arnold Ltd", ...facts };
      const named = (organization: string) => ({
        autonomous_system_number: 20712,
        autonomous_system_organization: organization,
      });
      const rows: [address: string, all: object | undefined, system: object | undefined][] = [
        ["81.2.69.1", { ...aa, organization: "Andrews & Arnold, Ltd" }, named("Andrews & Arnold, Ltd")],
        ["81.2.69.128", undefined, undefined],
        ["81.2.70.1", wide, { autonomous_system_number: 4100000001 }],
        [
          "81.2.70.200",
          { ...wide, shared: true, services: ["relay"] },
          { autonomous_system_number: 4100000001 },
        ],
        ["2a02:8010::1", aa, named("Andrews & Arnold Ltd")],
        ["::ffff:81.2.70.1", wide, { autonomous_system_number: 4100000001 }],
      ];
      expect(rows.map(([address]) => [address, record(all, address), record(systems, address)])).toEqual(
        rows,
      );
      // Neighbours of one system become one network there.
      expect([all, systems].map((file) => file.find(parseIp("81.2.70.200")!)!.bits)).toEqual([25, 24]);
    });

    test("clickhouse: a fourth dictionary, and the others as they are without it", async () => {
      const files = await exported("clickhouse", ...here);
      const without = await exported("clickhouse");
      const sql = String(files["inkling.sql"]);
      const header = String(files["inkling_network.csv"]).split("\n", 1)[0]!;
      const [, columns] = /DICTIONARY inkling_network\n\(\n(.*?)\n\)/s.exec(sql)!;
      expect(columns!.match(/^ {4}\w+/gm)!.map((name) => name.trim())).toEqual(header.split(","));
      expect(columns).toContain("network_asn UInt32 DEFAULT 0"); // Float32 has only 24 bits
      expect(sql.match(/LAYOUT\(IP_TRIE\)/g)).toHaveLength(3);
      expect(String(without["inkling.sql"])).not.toContain("inkling_network");
      for (const name of ["geolocate", "reputation", "email"])
        expect(String(files[`inkling_${name}.csv`])).toBe(String(without[`inkling_${name}.csv`]));
    });

    test("a release without them", async () => {
      const { err, code } = await inkling(
        "export",
        "csv",
        "--lookup",
        "network",
        "--out",
        join(temp, "none.csv"),
      );
      expect([code, err]).toEqual([1, expect.stringContaining("has no data for network\nhint: ")]);
    });
  });

  test("every format is in the table above and has help", async () => {
    const source = readFileSync(import.meta.path, "utf8");
    for (const { name } of FORMATS) {
      expect(source).toContain(`"${name}"`);
      expect((await inkling("export", name, "--help")).out).toContain(`inkling export ${name} --out`);
    }
  });
});

test("overrides count, also inside a network and where nothing was known", async () => {
  const note = ["--note", "ours"];
  const add = async (...args: string[]) =>
    expect((await inkling("overrides", "add", ...args, ...note)).err).toMatch(CREATES_DATABASE);
  const own = join(temp, "data-overridden");
  smallRelease(own, N);
  const here = ["--data-dir", own];
  await add("81.2.69.128/26", "--flag", "is_proxy=false", ...here);
  await add("8.8.4.4", "--flag", "is_abuser=true", ...here);
  await add(smallDomain(N), "--flag", "disposable=false", ...here);
  await add("ours-only.com", "--flag", "disposable=true", ...here);
  expect(await text("haproxy", ...here)).toEndWith(
    "\n8.8.4.4/32 is_abuser\n81.2.69.0/25 is_proxy\n81.2.69.192/26 is_proxy\n",
  );
  expect(await text("csv", "--lookup", "email", ...here)).toBe(
    "domain,providers\nours-only.com,ours-only.com\n",
  );
});

test("a flag without data is omitted, and the file names it", async () => {
  const own = join(temp, "data-gaps");
  smallRelease(own, N, ["is_abuser", "is_tor_exit"]);
  const gaps = [
    "is_abuser is unknown: no feed that provides it was loaded.",
    "is_tor_exit is unknown: no feed that provides it was loaded.",
  ];
  const reputation = ["--lookup", "reputation", "--data-dir", own];
  const csv = await exported("csv", ...reputation);
  expect(String(csv.x)).toMatch(/^network,is_abuser,is_proxy,is_tor_exit.*\n81.2.69.0\/24,,true,.*\n$/);
  for (const gap of gaps) {
    expect(String(csv["x.attribution.txt"]).split("\n")).toContain(gap);
    for (const form of ["nginx", "haproxy", "ipset", "nftables"])
      expect(await text(form, "--data-dir", own)).toContain(`# ${gap}\n`);
  }
  const note = ["--note", "ours", "--data-dir", own];
  await inkling("overrides", "add", "81.2.69.7", "--flag", "is_abuser=true", ...note);
  expect(await text("csv", ...reputation)).toContain("\n81.2.69.7/32,true,true,");
});

describe("bad input gets", () => {
  test.each<[what: string, args: string[], message: string]>([
    ["no form", ["export", "xml", "--out", "x"], "unknown command 'xml'"],
    ["a folder as target", ["export", "csv", "--out", "."], "is a folder"],
    ["a target in no folder", ["export", "csv", "--out", "nowhere/x.csv"], "does not exist"],
    [
      "a column that is none",
      ["export", "csv", "--out", "x", "--columns", "contry_name"],
      "there is no column contry_name in the table geolocate\nhint: did you mean country_name?",
    ],
    [
      "a column of the table of domains",
      ["export", "csv", "--out", "x", "--lookup", "email", "--columns", "domain"],
      "--columns is only for tables of networks",
    ],
    [
      "a compressed file of a format that is compressed",
      ["export", "parquet", "--out", "x.parquet.gz"],
      "x.parquet.gz: parquet files are already compressed",
    ],
    ["a folder form to standard output", ["export", "clickhouse", "--out", "-"], "consists of several files"],
    [
      "a lookup that the format cannot hold",
      ["export", "mmdb", "--lookup", "email", "--out", "x"],
      "is invalid",
    ],
    [
      "a type of database that is none",
      ["export", "mmdb", "--database-type", "GeoIP2-ISP", "--out", "x"],
      "GeoIP2-City, GeoLite2-Country, GeoIP2-Country, GeoIP2-Anonymous-IP, GeoLite2-ASN.",
    ],
    [
      "a type of database for another lookup",
      ["export", "mmdb", "--database-type", "GeoIP2-City", "--lookup", "reputation", "--out", "x"],
      "--database-type GeoIP2-City is only for the lookup geolocate",
    ],
    ["no release", ["export", "csv", "--out", "x", "--data-dir", "none"], "none does not exist"],
  ])("%s", async (_, args, message) => {
    const { err, code } = await inkling(...args);
    expect(err).toContain(message);
    expect(err).toContain("hint: ");
    expect(code).not.toBe(0);
  });

  test("a FIFO as target", async () => {
    const fifo = join(temporaryFolder(), "fifo");
    Bun.spawnSync(["mkfifo", fifo]);
    const err = `inkling: ${fifo} is not a regular file\nhint: use --out - and redirect it: … > ${fifo}\n`;
    expect(await inkling("export", "csv", "--out", fifo)).toEqual({ out: "", err, code: 2 });
    expect(statSync(fifo).isFIFO()).toBe(true);
  });

  test.each([
    ["csv", "the file to write to\nhint: for example --out inkling.csv; --out - is standard output"],
    ["nginx", "the file to write to\nhint: for example --out inkling.nginx.conf; --out - is standard output"],
    ["clickhouse", "the folder to write to\nhint: for example --out inkling-clickhouse/"],
  ])("no target, and the target to begin with: %s", async (format, message) => {
    const err = `inkling: --out is missing: ${message}\n`;
    expect(await inkling("export", format)).toEqual({ out: "", err, code: 2 });
  });
});

describe("a file is there whole or not at all", () => {
  const request = {} as Request;
  const { signal: going } = new AbortController();
  const form = (isFolder: boolean, pieces: () => Iterable<Piece>): ExportFormat => ({
    name: "f",
    what: "",
    lookups: ["email"],
    isFolder,
    pieces,
  });
  function* broken() {
    yield { file: "a", data: "half" };
    throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  }

  test("a full disk keeps the file that was there", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "xa"), "before");
    await expect(writeExport(form(false, broken), request, join(folder, "x"), going)).rejects.toThrow(
      "no space left",
    );
    expect(readdirSync(folder)).toEqual(["xa"]);
    expect(readFileSync(join(folder, "xa"), "utf8")).toBe("before");
  });

  test("a disk that is full when the second of two is flushed keeps both that were there", async () => {
    const folder = temporaryFolder();
    for (const name of ["xa", "xb"]) writeFileSync(join(folder, name), "before");
    const two = () => ["a", "b"].map((file) => ({ file, data: "after" }));
    const { flush } = AtomicFile.prototype;
    const flushing = spyOn(AtomicFile.prototype, "flush").mockImplementation(function (this: AtomicFile) {
      if (this.path.endsWith("xb")) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      flush.call(this);
    });
    try {
      await expect(writeExport(form(false, two), request, join(folder, "x"), going)).rejects.toThrow(
        "no space left",
      );
    } finally {
      flushing.mockRestore();
    }
    expect(readdirSync(folder).sort()).toEqual(["xa", "xb"]);
    for (const name of ["xa", "xb"]) expect(readFileSync(join(folder, name), "utf8")).toBe("before");
  });

  test("a folder that was made for it goes, too", async () => {
    const folder = join(temp, "made", "for", "it");
    await expect(writeExport(form(true, broken), request, folder, going)).rejects.toThrow("no space left");
    expect(existsSync(folder)).toBe(false);
  });

  test("an interruption", async () => {
    const stop = new AbortController();
    function* endless() {
      for (let i = 0; i < 1e9; i++) {
        if (i === 3) stop.abort();
        Bun.sleepSync(20);
        yield { file: "", data: "row\n" };
      }
    }
    const folder = temporaryFolder();
    const writing = writeExport(form(false, endless), request, join(folder, "x"), stop.signal);
    await expect(writing).rejects.toThrow(`${join(folder, "x")} was not written`);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("special-use networks and IPv4 inside IPv6 have no rows", () => {
  const source = new ExportSource(openServable(dataDir), Overrides.NONE, 0);
  const walk = source.ranges("geolocate");
  let step = walk.next();
  while (!step.done) step = walk.next();
  const found = Array.from(networks(step.value), ({ address, bits }) => formatPrefix({ address, bits }));
  expect(found).toEqual(["81.2.69.0/24"]);
});

test("a field of CSV is quoted where it must be", () => {
  expect(["a", 'say "hi"', "a,b", "a\nb", undefined, true, 1.5].map((value) => csvField(value))).toEqual([
    "a",
    '"say ""hi"""',
    '"a,b"',
    '"a\nb"',
    "",
    "true",
    "1.5",
  ]);
});
