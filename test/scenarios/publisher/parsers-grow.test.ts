// Tests that every parser is linear: four times the input costs about four times the CPU, whatever the input is made
// of. Hostile input is a repeated pattern, as one line and as many lines.
//
// Each attempt parses the large input once and the small input four times, so both sides read the same number of
// bytes and leave about as much garbage. Linear work costs the same on both sides; quadratic work costs four times
// as much on the large side, and the limit is 2.5 times. The test compares CPU time, not the clock, and passes if
// one of nine attempts is within the limit. An input that costs less than ENOUGH_MS does no harm, and its cost is
// too small to compare.

import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type Prefix, parsePrefix } from "@inkling/engine";
import { blocks } from "../../../packages/bulk/src/enrich/blocks.ts";
import { fieldOf } from "../../../packages/bulk/src/enrich/lines.ts";
import { planFor } from "../../../packages/bulk/src/enrich/plan.ts";
import { Row, type RowLayout, rowReader, splitRow } from "../../../packages/bulk/src/enrich/rows.ts";
import { valuesIn } from "../../../packages/bulk/src/values.ts";
import { EXTENSIONS, type Format } from "../../../packages/compiler/src/catalog/feed.ts";
import { unpack } from "../../../packages/compiler/src/fetch/unpack.ts";
import { MmdbRecords } from "../../../packages/compiler/src/mmdb/records.ts";
import {
  isDomainFormat,
  isNetworkFormat,
  parseDomains,
  parseNetworks,
} from "../../../packages/compiler/src/parse/index.ts";
import { parseNroDelegated } from "../../../packages/compiler/src/parse/nro-delegated.ts";
import { spaceChanges } from "../../../packages/compiler/src/validate/space.ts";
import { writeMmdb } from "../../../packages/compiler/test/mmdb-writer.ts";
import { share } from "../../harness/share.ts";

const ENOUGH_MS = 150;
const GROWTH = 4;
const MAX_RATIO = 2.5;
const ATTEMPTS = 9;

async function cpuMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  try {
    await run();
  } catch (error) {
    if (!/^(FeedError|MmdbError|BulkError)$/.test((error as Error).name)) throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * @throws if the large input costs more than {@link MAX_RATIO} times the CPU of {@link GROWTH} small ones in
 * every attempt
 */
async function requireLinear<T>(
  name: string,
  make: (size: number) => T,
  size: number,
  run: (input: T) => unknown,
) {
  const [small, large] = [make(size), make(GROWTH * size)];
  let ratio = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) Bun.gc(true); // an attempt does not pay for the garbage of the one before
    const costOfLarge = await cpuMs(() => run(large));
    if (costOfLarge < ENOUGH_MS) return;
    let costOfSmall = 0;
    for (let i = 0; i < GROWTH; i++) costOfSmall += await cpuMs(() => run(small));
    ratio = Math.min(ratio, costOfLarge / costOfSmall);
    if (ratio <= MAX_RATIO) return;
  }
  throw new Error(`${name}: one input costs ${ratio.toFixed(1)} times as much CPU as its ${GROWTH} quarters`);
}

const PATTERNS = [
  ",",
  '"',
  '""',
  '","',
  " ",
  "\t",
  "|",
  ".",
  ":",
  "a.",
  "é.",
  "ab ",
  "#",
  ";",
  "{",
  "[",
  '{"a":',
  "\\",
  "/",
  "<title",
  "# updated: a  ",
  "# last updated: ",
  "1.2.3.4,",
  "::",
  "0",
  "//",
  "a@",
  "=",
  "-",
]; // prettier-ignore
const STARTS = ["", "# updated: a", "# last updated: a", '"', "1.2.3.4 # last updated: ", "socks5://", "##"];

const text = (start: string, pattern: string, end: string) => (size: number) =>
  new TextEncoder().encode(start + pattern.repeat(Math.ceil(size / pattern.length)) + end);

/** Yields the pattern as one line that is as long as a line may be, and as separate lines. */
function* hostile(
  lineLength: number,
): Generator<[name: string, make: (size: number) => Uint8Array, size: number]> {
  for (const pattern of PATTERNS) {
    for (const start of STARTS) {
      const name = JSON.stringify(`${start} and ${pattern}`);
      yield [`a line of ${name}`, text(`1.2.3.4\n${start}`, pattern, "x\n1.2.3.4\n"), lineLength];
    }
    yield [`lines of ${JSON.stringify(pattern)}`, text("", `${pattern}\n`, ""), share(200_000, 40_000)];
  }
}

const parserOf = (format: Format): ((body: Uint8Array) => unknown) | undefined => {
  if (isNetworkFormat(format)) return (body) => parseNetworks(format, body);
  if (isDomainFormat(format)) return (body) => parseDomains(format, body);
  return format === "nro-delegated" ? parseNroDelegated : undefined;
};

const FORMATS = (Object.keys(EXTENSIONS) as Format[]).filter((format) => parserOf(format) !== undefined);
test.each(FORMATS)("%s", async (format) => {
  for (const [name, make, size] of hostile(16_000)) await requireLinear(name, make, size, parserOf(format)!);
});

const json = (row: string, open: string, close: string) => (size: number) =>
  new TextEncoder().encode(
    open +
      Array(Math.ceil(size / row.length))
        .fill(row)
        .join() +
      close,
  );
const DOCUMENTS: readonly [format: Format, row: string, open: string, close: string][] = [
  ["domain-json", '"a.example"', "[", "]"],
  ["prefix-json", '{"ipv4Prefix":"1.2.3.4"}', '{"prefixes":[', "]}"],
  ["prefix-json", '{"ipv4Prefix":1}', '{"prefixes":[', "]}"],
  ["monosans-json", '{"host":"1.2.3.4","exit_ip":null}', "[", "]"],
  ["onionoo-json", '{"or_addresses":["1.2.3.4:1","[::1]:2"]}', '{"relays":[', "]}"],
  ["abuseipdb-json", '{"ipAddress":"1.2.3.4","abuseConfidenceScore":1}', '{"data":[', "]}"],
  [
    "fakefilter-json",
    '"a.example":{"providers":["b"],"hosts":{"c.example":1}}',
    '{"version":2,"t":1,"domains":{',
    "}}",
  ],
];
test.each(DOCUMENTS)("%s of rows %s", async (format, row, open, close) => {
  await requireLinear(row, json(row, open, close), share(1_000_000, 200_000), parserOf(format)!);
});

const COLUMNS = { ip: 1, delimiter: ",", width: 3 };
test.each<RowLayout>([
  { format: "csv", ...COLUMNS, email: 2 },
  { format: "tsv", ...COLUMNS, email: 2 },
  { format: "lines", ip: 0, email: undefined, delimiter: undefined, width: undefined },
  { format: "lines", ip: 3, email: undefined, delimiter: undefined, width: undefined },
  { format: "ndjson", ip: "a", email: "b", delimiter: undefined, width: undefined },
])("rows of $format that are enriched", async (layout) => {
  const reader = rowReader(layout);
  const readAll = (bytes: Uint8Array) => {
    const row = new Row();
    for (let at = 0; at < bytes.length; ) at = reader(bytes, at, row);
  };
  for (const [name, make] of hostile(0)) await requireLinear(name, make, 60_000, readAll);
});

test("fields of lines", async () => {
  for (const pattern of [" ", '"', '\\"', "\\", '"a ', " [", "[a ", "] a", " 1.2.3.4 port 1"])
    await requireLinear(
      pattern,
      (size) => `"${pattern.repeat(size / pattern.length)}`,
      60_000,
      (line: string) => fieldOf(line, 100_000),
    );
});

test("values in any text", async () => {
  for (const pattern of [
    "1.",
    "1.2.3.4",
    ":",
    "a:",
    "1.2.3.4x",
    "@",
    "a@",
    "a@b.c.",
    "<",
    "1:1.1",
    "/1.1.1.1",
  ])
    await requireLinear(pattern, (size) => pattern.repeat(size / pattern.length), 100_000, valuesIn);
});

test("the columns of a header", async () => {
  const plan = (head: string) => planFor(head, "file.csv", {});
  for (const pattern of PATTERNS) {
    const line = (size: number) => pattern.repeat(Math.ceil(size / pattern.length));
    await requireLinear(`fields of ${pattern}`, line, 10_000, (head) => splitRow(head, ","));
    await requireLinear(`header of ${pattern}`, (size) => `${line(size)}\n${line(size)}\n`, 2_400, plan);
  }
});

test("a row that is longer than a block", async () => {
  const cut = async ({ chunk, count }: { chunk: Uint8Array; count: number }) => {
    async function* chunks() {
      for (let i = 0; i < count; i++) yield chunk;
    }
    for await (const _ of blocks(chunks(), ","));
  };
  const chunk = text("", ',""', "")(65_536);
  await requireLinear("a row", (megabytes) => ({ chunk, count: megabytes * 16 }), 4, cut);
});

test("records of a database that lead to the same values again and again", async () => {
  const names = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`name${i}`, `value${i}`]));
  const database = (count: number) =>
    writeMmdb({
      ipVersion: 4,
      recordSize: 24,
      networks: Array.from({ length: count }, (_, i) => [`1.${i >> 8}.${i & 255}.0/24`, { names, i }]),
    });
  await requireLinear("a database", database, share(4_000, 500), (file) => MmdbRecords.open([file], () => 0));
});

test("the space that networks cover", async () => {
  const list = (count: number): Prefix[] =>
    Array.from(
      { length: count },
      (_, i) => parsePrefix(`${i & 1 ? "2a00" : "2b00"}:${(i >> 1).toString(16)}::/32`)!,
    );
  await requireLinear("networks", list, 15_000, (networks) => spaceChanges(networks, networks.slice(7)));
});

test("an archive: what is passed over is counted", async () => {
  const header = (name: string, size: number) => {
    const block = Buffer.alloc(512);
    block.write(name);
    block.write(size.toString(8).padStart(11, "0"), 124);
    block.write("0", 156);
    block.write("ustar\0", 257);
    return block;
  };
  const bomb = gzipSync(gzipSync(Buffer.concat([header("LICENSE", 2 ** 26), Buffer.alloc(2 ** 26)])));
  expect(bomb.length).toBeLessThan(10_000);
  await expect(unpack(bomb, 100_000)).rejects.toThrow(/^is larger than \d+ bytes$/);
});
