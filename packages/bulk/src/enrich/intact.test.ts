// Tests what `inkling enrich` leaves intact: every byte of the input, rows of any length, and the input file itself.

import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { openServable } from "@inkling/data";
import { Overrides } from "@inkling/engine";
import fc from "fast-check";
import { smallRelease } from "../../../../test/harness/release.ts";
import { share } from "../../../../test/harness/share.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../../../cli/src/program.testing.ts";
import { BLOCK_BYTES, blocks, MAX_ROW_BYTES } from "./blocks.ts";
import { type EnrichOptions, planFor } from "./plan.ts";
import { lastRowEnd } from "./rows.ts";
import { makeEnricher } from "./worker.ts";

const temp = temporaryFolder();
const dataDir = join(temp, "data");
smallRelease(dataDir, 1);
const release = openServable(dataDir).name;
const BIN = join(import.meta.dir, "../../../cli/bin/inkling.mjs");

const inkling = (...args: string[]) => runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp });
const file = (name: string, content: string | Uint8Array) => {
  const path = join(temp, name);
  writeFileSync(path, content);
  return path;
};

/** Enriches a file in blocks of `size` bytes, from chunks that are cut at these positions. */
async function enriched(
  text: string,
  options: EnrichOptions,
  cuts: readonly number[] = [],
  size = BLOCK_BYTES,
): Promise<string> {
  const bytes = Buffer.from(text);
  const plan = planFor(text.replace(/^\uFEFF/, ""), "-", options);
  const start = { plan, dataDir, release, overrides: Overrides.NONE.all, now: 0, unknown: [] };
  const enricher = makeEnricher({ ...start, withSummary: false });
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const chunks = (async function* () {
    for (let i = 1; i < at.length; i++) yield bytes.subarray(at[i - 1], at[i]);
  })();
  const out: Uint8Array[] = [];
  let isFirst = true;
  for await (const { bytes: block } of blocks(chunks, plan.delimiter, size)) {
    out.push(enricher.block(block, isFirst).bytes);
    isFirst = false;
  }
  return Buffer.concat(out).toString();
}

/**
 * Parses CSV by RFC 4180, independently of the product's parser. Returns rows as the texts of their fields, including
 * quotes, with their line ends.
 */
function parse(text: string, delimiter: string): { fields: string[]; lineEnd: string }[] {
  const rows: { fields: string[]; lineEnd: string }[] = [];
  let fields: string[] = [];
  let field = "";
  let isQuoted = false;
  for (const c of text) {
    if (c === '"') isQuoted = !isQuoted;
    if (!isQuoted && c === delimiter) {
      fields.push(field);
      field = "";
    } else if (!isQuoted && c === "\n") {
      const lineEnd = field.endsWith("\r") ? "\r\n" : "\n";
      rows.push({ fields: [...fields, field.replace(/\r$/, "")], lineEnd });
      fields = [];
      field = "";
    } else field += c;
  }
  if (fields.length > 0 || field !== "") rows.push({ fields: [...fields, field], lineEnd: "" });
  return rows;
}

const ADD = ["country_iso_code", "is_proxy"];

describe("dropping the added columns gives the input back", () => {
  const free = fc.string({ unit: fc.constantFrom("a", "é", " ", '"', ",", ";", "\t", "\n", "\r\n", "日") });
  const field = fc.oneof(
    fc.constantFrom("", '""', "x", "5' pipe", '"a ""b"" c"', '"\n"', '"\r\n,"', '""""', '"'.repeat(6)),
    free.map((text) => `"${text.replaceAll('"', '""')}"`),
    free.map((text) => text.replaceAll(/["\r\n,;\t]/g, "")),
  );
  const table = fc.record({
    hasBom: fc.boolean(),
    delimiter: fc.constantFrom(",", ";", "\t"),
    lineEnd: fc.constantFrom("\n", "\r\n"),
    hasLastEnd: fc.boolean(),
    names: fc.array(fc.constantFrom("a", '"two\nlines"', '"b ""c"""', '"x\r\ny,;"', "é"), {
      minLength: 1,
      maxLength: 3,
    }),
    isIpFirst: fc.boolean(),
    rows: fc.array(fc.tuple(fc.nat(255), fc.boolean(), fc.array(field, { minLength: 3, maxLength: 3 })), {
      minLength: 1,
      maxLength: 12,
    }),
    cuts: fc.array(fc.nat(2_000), { maxLength: 8 }),
    size: fc.integer({ min: 1, max: 400 }),
  });

  test("for any valid table, cut into chunks and blocks anywhere", async () => {
    let several = 0;
    const check = async (sample: typeof table extends fc.Arbitrary<infer T> ? T : never) => {
      const { hasBom, delimiter, lineEnd, hasLastEnd, names, isIpFirst, rows, cuts, size } = sample;
      const joined = (ip: string, others: readonly string[]) =>
        (isIpFirst ? [ip, ...others] : [...others, ip]).join(delimiter);
      const lines = [
        joined("ip", names),
        ...rows.map(([last, isQuoted, others]) =>
          joined(isQuoted ? `"81.2.69.${last}"` : `81.2.69.${last}`, others.slice(0, names.length)),
        ),
      ];
      const text = `${hasBom ? "\uFEFF" : ""}${lines.join(lineEnd)}${hasLastEnd ? lineEnd : ""}`;
      const got = await enriched(text, { format: "csv", ipColumn: "ip", add: ADD }, cuts, size);
      const parsed = parse(got, delimiter);
      expect(parsed.map(({ fields }) => fields.slice(-2))).toEqual([ADD, ...rows.map(() => ["GB", "true"])]);
      expect(parsed.map((row) => row.fields.slice(0, -2).join(delimiter) + row.lineEnd).join("")).toBe(text);
      if (Buffer.byteLength(text) > size && cuts.length > 1) several++;
    };
    await fc.assert(fc.asyncProperty(table, check), { numRuns: share(2_000, 400) });
    expect(several).toBeGreaterThan(share(300, 60));
  });

  test.each([100, 300, 5_000])("a field with line breaks, of %d KiB", async (kib) => {
    const note = `"${'a ""quoted"" line, of several\r\n'.repeat((kib << 10) / 31)}"`;
    const input = file("long.csv", `n,note,ip\n1,${note},81.2.69.1\n2,x,8.8.8.8\n`);
    const target = join(temp, "long-out.csv");
    const { code, out } = await inkling("enrich", input, "--add", ADD.join(","), "--out", target);
    expect([code, out]).toEqual([0, "2 rows, 0 unparsable lines (0.0%), 0 without a public IP address\n"]);
    expect(readFileSync(target, "utf8")).toBe(
      `n,note,ip,country_iso_code,is_proxy\n1,${note},81.2.69.1,GB,true\n2,x,8.8.8.8,,false\n`,
    );
  });

  test("a header with a name of 300 KiB, over several lines", async () => {
    const name = `"${"name\n".repeat(60_000)}"`;
    const input = file("header.csv", `${name};ip\nx;81.2.69.1\n`);
    const target = join(temp, "header-out.csv");
    expect((await inkling("enrich", input, "--add", "is_proxy", "--out", target)).code).toBe(0);
    expect(readFileSync(target, "utf8")).toBe(`${name};ip;is_proxy\nx;81.2.69.1;true\n`);
  });

  test.each([
    ["plain", (bytes: Buffer) => bytes],
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("standard input to standard output: %s, a header that arrives in parts", async (_, packed) => {
    const text = `"two\nlines",ip\n"${"x\n".repeat(100_000)}",81.2.69.1\n`;
    const child = Bun.spawn(["node", BIN, "enrich", "-", "--add", "is_proxy", "--out", "-"], {
      cwd: temp,
      env: { ...process.env, INKLING_DATA_DIR: dataDir },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const bytes = packed(Buffer.from(text));
    for (const part of [bytes.subarray(0, 6), bytes.subarray(6)]) {
      child.stdin.write(part);
      await child.stdin.flush();
      await Bun.sleep(50); // separate the parts in the pipe; a single chunk would always pass
    }
    child.stdin.end();
    expect(await child.stdout.text()).toBe(
      text.replace("ip\n", "ip,is_proxy\n").replace(/81\.2\.69\.1\n$/, "81.2.69.1,true\n"),
    );
  });
});

describe("rows that are too long", () => {
  const long = `"${"many rows\n".repeat((MAX_ROW_BYTES + 2 * BLOCK_BYTES) / 10)}`;

  test.each([
    ["csv", `n,ip\n"a\nb",81.2.69.1\n${long}",8.8.8.8\n`, 4, "if a quote in that line is never closed"],
    [
      "ndjson",
      `{"ip":"81.2.69.1"}\n{"ip":${long.replaceAll("\n", " ")}"}\n`,
      2,
      "check that the file has one row per line",
    ],
    ["lines", `81.2.69.1\n\n${long.replaceAll("\n", " ")}`, 3, "check that the file has one row per line"],
    ["csv", `${long}",ip\n81.2.69.1\n`, 1, "if a quote in that line is never closed"],
  ])("%s: the error names line and limit, and nothing is written", async (format, text, line, hint) => {
    const forms: [name: string, content: () => string | Uint8Array][] = [
      ["too-long", () => text],
      ["too-long.gz", () => gzipSync(text, { level: 1 })],
    ];
    for (const [name, content] of share(forms, forms.slice(0, line === 4 ? 2 : 1))) {
      const folder = temporaryFolder();
      const target = join(folder, "out");
      const column = format === "lines" ? [] : ["--ip-column", "ip"];
      const input = file(name, content());
      const { code, err } = await inkling("enrich", input, "--format", format, ...column, "--out", target);
      expect(err).toContain(`line ${line}: the row that starts here is longer than 64 MiB`);
      expect(err).toContain(hint);
      expect(code).not.toBe(0);
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  test("a row ends at the same byte whatever comes after it", () => {
    const text = 'a,"b\n""c",d\n"x\r\ny"\n"", \n"e" \n"f\n"g\n"h"i\n"open\n';
    const ends = new Set(Array.from(text, (_, i) => lastRowEnd(Buffer.from(text.slice(0, i + 1)), ",")));
    expect([...ends]).toEqual([0, 12, 19, 24, 29, 32, 35, 40]);
  });
});

describe("--out and the input are one file: refused, and the input is what it was", () => {
  const text = "ip\n81.2.69.1\n";
  const folder = join(temp, "same");
  mkdirSync(folder);
  const input = join(folder, "visits.csv");
  writeFileSync(input, text);
  symlinkSync("visits.csv", join(folder, "link.csv"));
  symlinkSync(folder, join(temp, "other-folder"));
  linkSync(input, join(folder, "hard.csv"));

  test.each([
    ["the same name", "same/visits.csv"],
    ["another spelling", "same/../same//visits.csv"],
    ["a symbolic link", "same/link.csv"],
    ["a folder that is a link", "other-folder/visits.csv"],
    ["a hard link", "same/hard.csv"],
  ])("%s", async (_, name) => {
    const target = join(temp, name);
    const before = readdirSync(folder);
    const { code, err } = await inkling("enrich", input, "--out", target);
    expect([code, err]).toEqual([
      2,
      `inkling: --out ${target} and ${input} are the same file\nhint: write to another file, then rename it\n`,
    ]);
    expect(readFileSync(input, "utf8")).toBe(text);
    expect(readdirSync(folder)).toEqual(before);
  });

  test.each(["standard input", "standard output"])("by %s", async (which) => {
    const descriptor = openSync(input, which === "standard input" ? "r" : "a");
    const args = which === "standard input" ? ["-", "--out", input] : [input];
    const child = Bun.spawn(["node", BIN, "enrich", ...args], {
      cwd: temp,
      env: { ...process.env, INKLING_DATA_DIR: dataDir },
      stdin: which === "standard input" ? descriptor : "ignore",
      stdout: which === "standard output" ? descriptor : "ignore",
      stderr: "pipe",
    });
    const [err, code] = [await child.stderr.text(), await child.exited];
    closeSync(descriptor);
    expect([code, err]).toEqual([2, expect.stringContaining("are the same file")]);
    expect(readFileSync(input, "utf8")).toBe(text);
  });
});

test("a FIFO named by --out is refused, and remains", async () => {
  const fifo = join(temp, "fifo");
  Bun.spawnSync(["mkfifo", fifo]);
  const err = `inkling: ${fifo} is not a regular file\nhint: use --out - and redirect it: … > ${fifo}\n`;
  const ran = await inkling("enrich", file("fifo.csv", "81.2.69.1\n"), "--out", fifo);
  expect([ran.code, ran.err.replace(/^read as .*\nrelease .*\n/, "")]).toEqual([2, err]);
  expect(statSync(fifo).isFIFO()).toBe(true);
});

describe("the ending of --out", () => {
  const rows = "ip\n81.2.69.1\n".concat("8.8.8.8\n".repeat(share(300_000, 150_000)));
  test.each([
    ["out.csv.gz", (bytes: Uint8Array) => gunzipSync(bytes)],
    ["OUT.CSV.GZ", (bytes: Uint8Array) => gunzipSync(bytes)],
    ["out.csv.zst", (bytes: Uint8Array) => zstdDecompressSync(bytes)],
  ])("%s is compressed, and read again", async (name, unpacked) => {
    const target = join(temp, name);
    const input = file("packed.csv", rows);
    expect((await inkling("enrich", input, "--add", "is_proxy", "--out", target)).code).toBe(0);
    const want = rows
      .replace("ip\n", "ip,is_proxy\n")
      .replace("69.1\n", "69.1,true\n")
      .replaceAll("8.8.8.8\n", "8.8.8.8,false\n");
    expect(unpacked(readFileSync(target)).toString() === want).toBe(true);
    const again = await inkling("enrich", target, "--prefix", "x_", "--summary", "--json");
    expect(JSON.parse(again.out)).toMatchObject({ rows: share(300_001, 150_001), unparsable_share: 0 });
  });

  test.each([".br", ".xz", ".bz2", ".zip", ".LZ4", ".tgz"])(
    "%s cannot be written: refused",
    async (ending) => {
      const target = join(temp, `out${ending}`);
      const { code, err } = await inkling("enrich", file("ending.csv", "81.2.69.1\n"), "--out", target);
      expect([code, err]).toEqual([
        2,
        expect.stringContaining(
          `${target}: files that end in ${ending} cannot be written\nhint: use a name that ends in`,
        ),
      ]);
      expect(existsSync(target)).toBe(false);
    },
  );

  test("a format that enrich does not write: refused", async () => {
    const target = join(temp, "out.parquet");
    const { code, err } = await inkling("enrich", file("format.csv", "81.2.69.1\n"), "--out", target);
    expect([code, err]).toEqual([2, expect.stringContaining("writes the format of its input, not .parquet")]);
    expect(existsSync(target)).toBe(false);
  });

  test("exports, too", async () => {
    const target = join(temp, "export.csv.gz");
    const plain = join(temp, "export.csv");
    expect((await inkling("export", "csv", "--lookup", "reputation", "--out", plain)).code).toBe(0);
    expect((await inkling("export", "csv", "--lookup", "reputation", "--out", target)).code).toBe(0);
    expect(gunzipSync(readFileSync(target)).equals(readFileSync(plain))).toBe(true);
    expect(readFileSync(plain).length).toBeGreaterThan(10);
  });
});

describe("an empty input has no rows, and is no error", () => {
  test.each<[what: string, name: string, content: string | Uint8Array, args: string[], rows: string]>([
    ["csv", "none.csv", "", [], ""],
    ["csv, of which a column is named", "none.csv", "", ["--ip-column", "ip", "--network"], ""],
    ["csv, of which columns are named", "none.csv", "", ["--ip-column", "a", "--ip-column", "b"], ""],
    ["no ending", "none", "", [], ""],
    ["a log", "none.log", "", ["--format", "lines"], ""],
    ["ndjson", "none.ndjson", "", ["--ip-field", "ip"], ""],
    ["gzip", "none.csv.gz", gzipSync(""), [], ""],
    ["a mark of UTF-8", "none.csv", "\uFEFF", [], "\uFEFF"],
    ["blank lines", "none.csv", "\r\n\n", ["--ip-column", "ip"], "\r\n\n"],
  ])("%s", async (_, name, content, args, rows) => {
    const target = join(temp, "none-out");
    const input = file(name, content);
    const { code, out, err } = await inkling("enrich", input, ...args, "--strict", "--out", target);
    expect([code, out, err]).toEqual([
      0,
      "0 rows, 0 unparsable lines (0.0%)\n",
      expect.stringContaining("read as"),
    ]);
    expect(readFileSync(target, "utf8")).toBe(rows);
    const summary = await inkling("enrich", input, ...args, "--summary", "--json");
    expect([summary.code, JSON.parse(summary.out)]).toMatchObject([
      0,
      {
        rows: 0,
        broken: { rows: 0 },
        unparsable_lines: 0,
        unparsable_first_line: null,
        unparsable_share: 0,
      },
    ]);
  });

  test("to a name that ends in .gz: a gzip file of nothing", async () => {
    const target = join(temp, "none-out.csv.gz");
    expect((await inkling("enrich", file("none.csv", ""), "--out", target)).code).toBe(0);
    expect(gunzipSync(readFileSync(target)).length).toBe(0);
  });
});

describe("lines that cannot be parsed", () => {
  const good = '{"ip":"81.2.69.1"}\n';
  const some = `${good.repeat(16)}broken\n${'{"ip":\n'.repeat(8)}`;

  test("their share is printed, and the exit code is 0 without --strict", async () => {
    const target = join(temp, "some-out.ndjson");
    const input = file("some.ndjson", some);
    const { code, out } = await inkling("enrich", input, "--out", target);
    expect([code, out]).toEqual([
      0,
      "16 rows, 9 unparsable lines (36.0%, the first is line 17), 0 without a public IP address\n",
    ]);
    const summary = await inkling("enrich", input, "--summary");
    expect(summary.out).toStartWith("16 rows\n9 unparsable lines (36.0%, the first is line 17)\nrelease ");
    const json = await inkling("enrich", input, "--summary", "--json");
    expect(JSON.parse(json.out)).toMatchObject({
      unparsable_share: 0.36,
      broken: { rows: 9 },
      unparsable_lines: 9,
      unparsable_first_line: 17,
    });
    expect(JSON.parse(json.out).broken).toEqual({ rows: 9 });
  });

  test.each([
    ["ndjson", some, "9 unparsable lines (36.0%, the first is line 17)", "those lines"],
    ["csv", 'n,ip\n"x,81.2.69.1\ny,8.8.8.8\n', "1 unparsable line (50.0%, the first is line 2)", "that line"],
  ])("--strict: %s: exit code 1, the counts, and no file", async (format, text, counts, which) => {
    const folder = temporaryFolder();
    const target = join(folder, "out");
    const input = file("strict", text);
    const run = (...args: string[]) => inkling("enrich", input, "--format", format, "--strict", ...args);
    const { code, out, err } = await run("--out", target);
    expect(code).toBe(1);
    expect(out).toContain(counts);
    expect(err).toContain(
      `inkling: --strict: ${counts}; ${target} was not written\nhint: correct ${which}, name another --format, or leave out --strict\n`,
    );
    expect(readdirSync(folder)).toEqual([]);
    const summary = await run("--summary");
    expect([summary.code, summary.out]).toEqual([1, expect.stringContaining(counts)]);
  });

  test("--strict: exit code 0 for a file that is in order", async () => {
    const target = join(temp, "strict-out");
    const input = file("good.ndjson", good);
    appendFileSync(input, "\n"); // a blank line is not a row
    expect((await inkling("enrich", input, "--strict", "--out", target)).code).toBe(0);
    expect(existsSync(target)).toBe(true);
  });
});
