// Tests where copies come from, in which order, and which of them are kept.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { parseNetworks } from "../parse/index.ts";
import { type Candidate, type FeedCopy, isCopy } from "./copy.ts";
import { KeptCopies } from "./feed-state.ts";
import { nextFeedState, publishHeld } from "./next-state.ts";
import { ETAG, LIST, type Publisher, startPublisher } from "./publisher.testing.ts";
import { candidates, type SourceOptions } from "./source.ts";

const NOW = new Date("2026-08-22T12:00:00.000Z");
const LATER = new Date("2026-08-22T13:00:00.000Z");
const SHA_OF_LIST = new Bun.CryptoHasher("sha256").update(LIST).digest("hex");

let publisher: Publisher;
let root: string;
let dataDir: string;
let mirror: string;
beforeAll(async () => {
  publisher = await startPublisher();
});
afterAll(() => publisher.stop());
beforeEach(() => {
  root = temporaryFolder();
  dataDir = join(root, "data");
  mirror = join(root, "mirror");
  mkdirSync(mirror);
  mkdirSync(join(root, "seed-package"));
  writeFileSync(join(root, "seed-package/list.txt"), "198.51.100.1\n");
});

const feed = (more: Partial<Feed> = {}): Feed => ({
  id: "test-feed",
  sets: "is_abuser",
  format: "ip-lines",
  title: "",
  homepage: "",
  urls: () => [`${publisher.base}/good`],
  licence: "feed's",
  cadenceHours: 1,
  age: { staleHours: 24, dropHours: 240 },
  change: 1,
  entries: { least: 0, most: 10 },
  maxBytes: 1_000,
  seed: {
    package: "seed-package",
    files: ["list.txt"],
    format: "ip-lines",
    licence: "seed's",
    published: "2026-06",
  },
  ...more,
});

const collect = async (row: Feed, more: Partial<SourceOptions> = {}): Promise<Candidate[]> => {
  const found: Candidate[] = [];
  const options = {
    dataDir,
    fetch: false,
    now: NOW,
    packageFolder: (name: string) => join(root, name),
    ...more,
  };
  for await (const candidate of candidates(row, options, keptOf(row))) found.push(candidate);
  return found;
};
const keptOf = (row: Feed) => new KeptCopies(row, dataDir);
/** Keeps a copy that passed, like a load does. */
const keepLastGood = (row: Feed, copy: FeedCopy): void => {
  const source = { feed: row, mirror: undefined, now: NOW, chance: () => 0.5 };
  const kept = keptOf(row);
  const next = nextFeedState(kept.state, { type: "passed", copy, entries: 1 }, source);
  kept.write(publishHeld(next), [copy]);
};
/** Formats candidates as "source: first line of the file" or "source! error", without the folder of this test. */
const summaries = (found: Candidate[]): string[] =>
  found.map((candidate) => {
    const text = isCopy(candidate)
      ? `${candidate.source}: ${Buffer.from(candidate.files[0]!).toString().split("\n")[0]}`
      : `${candidate.source}! ${candidate.error}`;
    return text.replaceAll(root, "ROOT").replaceAll(publisher.base, "BASE");
  });
const first = (found: Candidate[]): FeedCopy => {
  const copy = found.find(isCopy);
  if (copy === undefined) throw new Error(`no copy: ${summaries(found)}`);
  return copy;
};
const kept = () => {
  const folder = join(dataDir, "feeds/test-feed");
  return existsSync(folder) ? readdirSync(folder).sort() : [];
};
const SEED = "seed: 198.51.100.1";

describe("order of preference", () => {
  test("only the seed", async () => {
    const found = await collect(feed());
    expect(summaries(found)).toEqual([SEED]);
    expect(first(found)).toMatchObject({ licence: "seed's", publishedAt: new Date("2026-06-01"), bytes: 13 });
    expect(first(found).fetchedAt).toBeUndefined();
  });
  test("publisher, then last good, then seed", async () => {
    expect(summaries(await collect(feed(), { fetch: true }))).toEqual(["fetched: 192.0.2.1", SEED]);
    keepLastGood(feed(), first(await collect(feed(), { fetch: true })));
    const moved = feed({ urls: () => [`${publisher.base}/nothing`] });
    expect(summaries(await collect(moved, { fetch: true }))).toEqual([
      "fetched! BASE/nothing answered 404 Not Found",
      "last-good: 192.0.2.1",
      SEED,
    ]);
    expect(summaries(await collect(moved))).toEqual(["last-good: 192.0.2.1", SEED]);
  });
  test("with a mirror the publisher is not requested", async () => {
    const requestsBefore = publisher.requests.length;
    writeFileSync(join(mirror, "test-feed.list"), "203.0.113.1\n");
    expect(summaries(await collect(feed(), { mirror, fetch: true }))).toEqual(["mirror: 203.0.113.1", SEED]);
    rmSync(join(mirror, "test-feed.list"));
    expect(summaries(await collect(feed(), { mirror, fetch: true }))).toEqual([
      "mirror! the mirror ROOT/mirror has no file test-feed.*",
      SEED,
    ]);
    expect(publisher.requests.length).toBe(requestsBefore);
  });
  test("a mirror without the file differs from one whose file cannot be used", async () => {
    expect((await collect(feed(), { mirror }))[0]).toMatchObject({ source: "mirror", kind: "absent" });
    expect((await collect(feed(), { mirror: publisher.base }))[0]).toMatchObject({ kind: "absent" });
    writeFileSync(join(mirror, "test-feed.txt"), "1".repeat(1_001));
    expect((await collect(feed(), { mirror }))[0]).not.toHaveProperty("absent");
    expect((await collect(feed(), { mirror: join(root, "gone") }))[0]).not.toHaveProperty("absent");
  });
  test("our own file comes last, and a mirror need not have it", async () => {
    const row = FEEDS.find((entry) => entry.id === "tor-exit-networks")!;
    expect((await collect(row, { mirror, fetch: true })).map(({ source }) => source)).toEqual(["own"]);
    expect((await collect(row, { mirror: publisher.base })).map(({ source }) => source)).toEqual(["own"]);
    writeFileSync(join(mirror, "tor-exit-networks.csv"), "network,operator,source\n");
    expect((await collect(row, { mirror })).map(({ source }) => source)).toEqual(["mirror", "own"]);
  });
  test("later candidates are loaded only when needed", async () => {
    const requestsBefore = publisher.requests.length;
    const row = feed({ urls: () => [`${publisher.base}/good`, `${publisher.base}/gzip`] });
    for await (const candidate of candidates(row, { dataDir, fetch: true, now: NOW }, keptOf(row))) {
      expect(candidate.source).toBe("fetched");
      break;
    }
    expect(publisher.requests.length).toBe(requestsBefore + 1);
    expect(kept()).toEqual([]); // the download was removed
  });
  test("a package that is not installed, or lacks the file", async () => {
    const packageFolder = (name: string) => {
      throw new Error(`Cannot find ${name}`);
    };
    expect(summaries(await collect(feed(), { packageFolder }))).toEqual([
      "seed! the npm package seed-package is not installed: run npm install",
    ]);
    rmSync(join(root, "seed-package/list.txt"));
    expect(summaries(await collect(feed()))[0]).toMatch(
      /^seed! ROOT\/seed-package\/list\.txt cannot be read: /,
    );
  });
  test("a seed of several files has one checksum over all, in order", async () => {
    writeFileSync(join(root, "seed-package/more.txt"), "198.51.100.2\n");
    const copy = first(await collect(feed({ seed: { ...feed().seed!, files: ["list.txt", "more.txt"] } })));
    expect(copy.files).toHaveLength(2);
    expect(copy.sha256).toBe(
      new Bun.CryptoHasher("sha256").update("198.51.100.1\n198.51.100.2\n").digest("hex"),
    );
  });
  test("the seeds of the feed table are installed", async () => {
    const copy = first(
      await collect(FEEDS.find(({ id }) => id === "fakefilter")!, { packageFolder: undefined }),
    );
    expect(copy).toMatchObject({ source: "seed", format: "fakefilter-json" });
  });
});

describe("mirror folder", () => {
  const put = (name: string, body: string | Uint8Array = LIST) => writeFileSync(join(mirror, name), body);
  test("any extension, packed or not; its time is the file's", async () => {
    put("test-feed.netset.gz", gzipSync(LIST));
    utimesSync(join(mirror, "test-feed.netset.gz"), NOW, NOW);
    const copy = first(await collect(feed(), { mirror }));
    expect(copy).toMatchObject({ source: "mirror", format: "ip-lines", sha256: SHA_OF_LIST, fetchedAt: NOW });
  });
  test("an extension can stand for another format of the feed", async () => {
    const row = feed({ otherFormats: { json: "monosans-json" } });
    put("test-feed.json.gz", gzipSync("[]"));
    expect(first(await collect(row, { mirror })).format).toBe("monosans-json");
    rmSync(join(mirror, "test-feed.json.gz"));
    put("test-feed.json.tar.gz", gzipSync("[]"));
    expect(first(await collect(row, { mirror })).format).toBe("monosans-json");
  });
  test("files with a longer name, and folders, are ignored", async () => {
    put("test-feed-v6.txt");
    put("test-feed");
    mkdirSync(join(mirror, "test-feed.d"));
    symlinkSync(join(mirror, "gone"), join(mirror, "other-feed.txt"));
    expect(summaries(await collect(feed(), { mirror }))[0]).toBe(
      "mirror! the mirror ROOT/mirror has no file test-feed.*",
    );
  });
  test("several files", async () => {
    put("test-feed.txt");
    put("test-feed.csv");
    expect(summaries(await collect(feed(), { mirror }))).toEqual([
      "mirror! the mirror ROOT/mirror has several files for this feed: test-feed.csv, test-feed.txt",
      SEED,
    ]);
  });
  const strange: [name: string, make: (path: string) => void, why: string][] = [
    ["a link to nothing", (path) => symlinkSync(join(mirror, "nowhere"), path), "is a broken link"],
    ["a pipe", (path) => Bun.spawnSync(["mkfifo", path]), "is not a file"],
    ["a device", (path) => symlinkSync("/dev/zero", path), "is not a file"],
  ];
  test.each(strange)("%s is refused by name", async (_, make, why) => {
    make(join(mirror, "test-feed.txt"));
    expect(summaries(await collect(feed(), { mirror }))).toEqual([
      `mirror! ROOT/mirror/test-feed.txt ${why}`,
      SEED,
    ]);
  });
  test("a folder that does not answer in time", async () => {
    put("test-feed.txt");
    const late = { mirror, deadline: performance.now() - 1 };
    expect((await collect(feed(), late))[0]).toMatchObject({ source: "mirror", kind: "late" });
    const times = { responseMs: 1, totalMs: 0 };
    expect(summaries(await collect(feed(), { mirror, times }))[0]).toBe(
      "mirror! the mirror ROOT/mirror did not respond within 0 ms",
    );
  });
  test("too large, packed or not, and damaged", async () => {
    put("test-feed.txt", "1".repeat(1_001));
    expect(summaries(await collect(feed(), { mirror }))[0]).toBe(
      "mirror! ROOT/mirror/test-feed.txt: is larger than 1000 bytes",
    );
    rmSync(join(mirror, "test-feed.txt"));
    put("test-feed.gz", gzipSync(Buffer.alloc(2 ** 19)));
    expect(summaries(await collect(feed(), { mirror }))[0]).toMatch(
      /test-feed\.gz: is larger than 1000 bytes$/,
    );
    put("test-feed.gz", gzipSync(LIST).subarray(0, 20));
    expect(summaries(await collect(feed(), { mirror }))[0]).toMatch(
      /test-feed\.gz: is a damaged or truncated gzip file/,
    );
  });
  test("a file that is too large to hold is mapped from a private copy, which is removed", async () => {
    const row = feed({ maxBytes: 2 ** 24 });
    const left = () => readdirSync(join(dataDir, "feeds/test-feed"));
    const large = Buffer.from("192.0.2.1\n".repeat(600_000));
    put("test-feed.txt.gz", gzipSync(large));
    const copy = first(await collect(row, { mirror }));
    rmSync(join(mirror, "test-feed.txt.gz"));
    expect(Buffer.compare(copy.files[0]!, large)).toBe(0);
    expect(left()).toEqual([]);
    put("test-feed.txt.gz", gzipSync(large).subarray(0, -20));
    expect(summaries(await collect(row, { mirror }))[0]).toMatch(/is a damaged or truncated gzip file/);
    put("test-feed.txt.gz", gzipSync(Buffer.alloc(2 ** 24 + 1)));
    expect(summaries(await collect(row, { mirror }))[0]).toMatch(
      /test-feed\.txt\.gz: is larger than 16777216 bytes/,
    );
    expect(left()).toEqual([]);
    rmSync(join(dataDir, "feeds/test-feed"), { recursive: true });
    writeFileSync(join(dataDir, "feeds/test-feed"), "");
    put("test-feed.txt.gz", gzipSync(large));
    await expect(collect(row, { mirror })).rejects.toThrow(/EEXIST|ENOTDIR/);
  });
  test("an empty file is a copy: its parser refuses it", async () => {
    put("test-feed.txt", "");
    const copy = first(await collect(feed(), { mirror }));
    expect(() => parseNetworks(copy.format, copy.files[0]!)).toThrow("is empty");
  });
  test("a folder that is not there", async () => {
    expect(summaries(await collect(feed(), { mirror: join(root, "gone") }))[0]).toMatch(
      /^mirror! the mirror ROOT\/gone cannot be read: /,
    );
  });
});

describe("mirror over HTTP", () => {
  test("requests <base>/<id>.<extension>", async () => {
    const row = feed({ id: "good", format: "geofeed-csv" });
    expect(summaries(await collect(row, { mirror: `${publisher.base}/` }))[0]).toBe(
      "mirror! BASE/good.csv answered 404 Not Found",
    );
    expect(publisher.requests.at(-1)!.path).toBe("/good.csv");
  });
});

describe("publisher", () => {
  const pair = (a: string, b: string) => feed({ urls: () => [publisher.base + a, publisher.base + b] });
  test("the previous month's file, without an error, when this month's does not exist yet", async () => {
    expect(summaries(await collect(pair("/nothing", "/good"), { fetch: true }))).toEqual([
      "fetched: 192.0.2.1",
      SEED,
    ]);
  });
  test("any other failure is reported, and the next URL is requested", async () => {
    expect(summaries(await collect(pair("/500", "/good"), { fetch: true }))).toEqual([
      "fetched! BASE/500 answered 500 Internal Server Error",
      "fetched: 192.0.2.1",
      SEED,
    ]);
  });
  test("both missing", async () => {
    expect(summaries(await collect(pair("/nothing", "/nowhere"), { fetch: true }))).toEqual([
      "fetched! BASE/nowhere answered 404 Not Found",
      SEED,
    ]);
  });
  test("a publisher's new URL is part of its copy; that of a request with secrets is not", async () => {
    const moved = feed({ urls: () => [`${publisher.base}/moved`] });
    expect(first(await collect(moved, { fetch: true })).movedTo).toBe(`${publisher.base}/good`);
    const withSecret = { ...moved, request: (url: string) => ({ url, headers: { key: "s" } }) };
    expect(first(await collect(withSecret, { fetch: true }))).toMatchObject({ source: "fetched" });
    expect(first(await collect(withSecret, { fetch: true })).movedTo).toBeUndefined();
  });

  test("a kept copy is confirmed, not fetched again", async () => {
    const copy = first(await collect(feed(), { fetch: true }));
    expect(copy).toMatchObject({
      source: "fetched",
      fetchedAt: NOW,
      publishedAt: new Date("2026-08-01T12:00:00Z"),
    });
    keepLastGood(feed(), copy);
    const again = first(await collect(feed(), { fetch: true, now: LATER }));
    expect(publisher.requests.at(-1)!.ifNoneMatch).toBe(ETAG);
    expect(again).toMatchObject({ source: "fetched", fetchedAt: LATER, sha256: copy.sha256 });
    keepLastGood(feed(), again);
    expect(first(await collect(feed())).fetchedAt).toEqual(LATER);
    expect(kept()).toHaveLength(2);
  });
  test("a copy that was refused is fetched again: only a kept one is revalidated", async () => {
    await collect(feed(), { fetch: true });
    await collect(feed(), { fetch: true });
    expect(publisher.requests.at(-1)!.ifNoneMatch).toBeUndefined();
  });
  test("the validators of another URL are not sent", async () => {
    keepLastGood(feed(), first(await collect(feed(), { fetch: true })));
    await collect(feed({ urls: () => [`${publisher.base}/gzip`] }), { fetch: true });
    expect(publisher.requests.at(-1)!.ifNoneMatch).toBeUndefined();
  });
  test("a damaged kept copy is reported, and fetched anew", async () => {
    keepLastGood(feed(), first(await collect(feed(), { fetch: true })));
    const body = join(dataDir, "feeds/test-feed", kept()[0]!);
    writeFileSync(body, "198.18.0.1\n");
    const found = await collect(feed(), { fetch: true });
    expect(summaries(found)[0]).toBe("fetched: 192.0.2.1");
    expect(summaries(found)[1]).toMatch(/^last-good! .* is damaged: its checksum has changed$/);
    expect(publisher.requests.at(-1)!.ifNoneMatch).toBeUndefined();
  });
  test("a file that a killed process left is removed with the next state", async () => {
    mkdirSync(join(dataDir, "feeds/test-feed"), { recursive: true });
    writeFileSync(join(dataDir, "feeds/test-feed/.tmp-download-1"), "half");
    const copy = first(await collect(feed(), { fetch: true }));
    keepLastGood(feed(), copy);
    expect(kept()).toEqual([`body-${copy.sha256.slice(0, 16)}.txt`, "state.json"]);
  });
});

describe("last good copy", () => {
  const keep = (body: string) => {
    writeFileSync(join(mirror, "test-feed.txt"), body);
    return collect(feed(), { mirror }).then((found) => keepLastGood(feed(), first(found)));
  };
  test("a new one takes the place of the old one", async () => {
    await keep("192.0.2.1\n");
    await keep("192.0.2.2\n");
    expect(summaries(await collect(feed()))[0]).toBe("last-good: 192.0.2.2");
    expect(kept()).toHaveLength(2);
  });
  test("a body that stands there already is not written again, unless it is damaged", async () => {
    const state = join(dataDir, "feeds/test-feed/state.json");
    const inodeOfBody = () => statSync(join(dataDir, "feeds/test-feed", kept()[0]!)).ino;
    await keep("192.0.2.1\n");
    utimesSync(join(mirror, "test-feed.txt"), NOW, NOW);
    const again = () => collect(feed(), { mirror }).then((found) => keepLastGood(feed(), first(found)));
    await again();
    const before = inodeOfBody();
    await again();
    expect(inodeOfBody()).toEqual(before);
    writeFileSync(join(dataDir, "feeds/test-feed", kept()[0]!), "damaged");
    writeFileSync(state, "{}");
    await again();
    expect(summaries(await collect(feed()))[0]).toBe("last-good: 192.0.2.1");
    expect(inodeOfBody()).not.toEqual(before);
  });
  test("killed between body and state: the old one stays", async () => {
    await keep("192.0.2.1\n");
    const state = readFileSync(join(dataDir, "feeds/test-feed/state.json"));
    const old = readFileSync(join(dataDir, "feeds/test-feed", kept()[0]!));
    const name = kept()[0]!;
    await keep("192.0.2.2\n");
    writeFileSync(join(dataDir, "feeds/test-feed/state.json"), state);
    writeFileSync(join(dataDir, "feeds/test-feed", name), old);
    expect(summaries(await collect(feed()))[0]).toBe("last-good: 192.0.2.1");
    await keep("192.0.2.3\n");
    expect(kept()).toHaveLength(2); // the body that the state did not name was removed as well
  });
  test("seeds and our own lists are not kept", async () => {
    const seed = first(await collect(feed()));
    expect(() => keepLastGood(feed(), seed)).toThrow("a copy from seed is not kept");
    expect(existsSync(join(dataDir, "feeds"))).toBe(false);
  });
  test("a large body comes back mapped, and whole", async () => {
    const row = feed({ maxBytes: 2 ** 24 });
    writeFileSync(join(mirror, "test-feed.txt"), "192.0.2.1\n".repeat(500_000));
    keepLastGood(row, first(await collect(row, { mirror })));
    const copy = first(await collect(row));
    expect(copy.bytes).toBe(5_000_000);
    expect(parseNetworks(copy.format, copy.files[0]!).networks).toHaveLength(1);
  });
  const broken: readonly [name: string, state: string, message: RegExp][] = [
    ["not JSON", "{", /state\.json is damaged: it is not JSON$/],
    ["another form", '{"copy":{}}', /state\.json is damaged: /],
    [
      "a name that leads out of the folder",
      JSON.stringify({ copy: { file: "../../x", format: "ip-lines", sha256: "", source: "fetched" } }),
      /state\.json is damaged: /,
    ],
    [
      "a body that is gone",
      JSON.stringify({
        copy: { file: "body-0123456789abcdef.txt", format: "ip-lines", sha256: "", source: "fetched" },
      }),
      /body-0123456789abcdef\.txt is missing, but state\.json lists it$/,
    ],
  ];
  test.each(broken)("%s", async (_name, state, message) => {
    mkdirSync(join(dataDir, "feeds/test-feed"), { recursive: true });
    writeFileSync(join(dataDir, "feeds/test-feed/state.json"), state);
    const found = summaries(await collect(feed()));
    expect(found[0]).toStartWith("last-good! ");
    expect(found[0]).toMatch(message);
    expect(found[1]).toBe(SEED);
  });
});
