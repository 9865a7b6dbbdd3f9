// Tests what a load stores, and what its report contains. Every API key can read the report.

import { beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { readFeedState } from "../fetch/feed-state.ts";
import type { LoadOptions } from "./feed-report.ts";
import { loadFeed as loadOnly } from "./load.ts";

const TOR = FEEDS.find(({ id }) => id === "tor-bulk-exits")!;
const LIST = Array.from({ length: 500 }, (_, i) => `5.2.${i >> 8}.${i & 255}\n`).join("");

/** Loads a feed and settles it, as a build does after its release. */
const loadFeed: typeof loadOnly = async (...args) => {
  const loaded = await loadOnly(...args);
  loaded.settle();
  return loaded;
};

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  for (const part of ["data/feeds", "mirror"]) mkdirSync(join(root, part), { recursive: true });
});

const load = (mirror: string, more: Partial<LoadOptions> = {}) => {
  const options = { dataDir: join(root, "data"), mirror, fetch: false, onlyDue: false, chance: () => 0.5 };
  return loadFeed(TOR, { ...options, now: new Date(), ...more }, undefined);
};

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 7, 22, 12);
/** Loads a feed from a publisher that answers with `status`. */
const loadFrom = async (
  feed: Feed,
  status: () => number,
  at = NOW,
  more: Partial<LoadOptions> = {},
  headers: Record<string, string> = {},
) => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(LIST, { status: status(), headers }),
  });
  const options = { dataDir: join(root, "data"), fetch: true, onlyDue: false, chance: () => 0.5 };
  try {
    const row = { ...feed, urls: () => [`http://127.0.0.1:${server.port}/list`] };
    return await loadFeed(row, { ...options, now: new Date(at), ...more }, undefined);
  } finally {
    await server.stop(true);
  }
};
const state = (feed: Feed) => readFeedState(feed, join(root, "data"));
const filesOf = (feed: Feed) => {
  const folder = join(root, "data/feeds", feed.id);
  return existsSync(folder) ? readdirSync(folder).sort() : [];
};

test("a list that is too small is held, and stays in use once it is accepted; an empty one never is used", async () => {
  const mirror = join(root, "mirror");
  const put = (entries: number) =>
    writeFileSync(join(mirror, "tor-bulk-exits.txt"), LIST.split("\n").slice(0, entries).join("\n"));
  const outcome = ({
    report: { state, source, entries, error, held },
  }: Awaited<ReturnType<typeof load>>) => ({
    state,
    source,
    entries,
    error,
    isHeld: held !== undefined,
  });
  const { least } = TOR.entries;
  put(3);
  expect(outcome(await load(mirror))).toMatchObject({
    error: `mirror: has 3 entries, but should have at least ${least}`,
    isHeld: true,
  });
  const used = { state: "loaded", entries: 3, error: undefined, isHeld: false };
  expect(outcome(await load(mirror, { accept: true }))).toMatchObject(used);
  expect(outcome(await load(mirror))).toMatchObject(used);
  rmSync(join(mirror, "tor-bulk-exits.txt"));
  expect(outcome(await load(mirror))).toMatchObject({ state: "loaded", source: "last-good", entries: 3 });
  put(0);
  for (const accept of [false, true])
    expect(outcome(await load(mirror, { accept }))).toMatchObject({
      source: "last-good",
      entries: 3,
      isHeld: true,
    });
});

describe("the newest copy of a publisher is used, from wherever it is", () => {
  const feed = FEEDS.find(({ id }) => id === "disposable-email-domains")!;
  const seedAt = Date.parse(feed.seed!.published);
  const file = () => join(root, "mirror/disposable-email-domains.txt");
  const loadAt = (now: number, more: Partial<LoadOptions> = {}) => {
    const options = { dataDir: join(root, "data"), fetch: false, onlyDue: false, chance: () => 0.5 };
    return loadFeed(
      feed,
      { ...options, mirror: join(root, "mirror"), now: new Date(now), ...more },
      undefined,
    );
  };
  const put = (at: number) => {
    writeFileSync(file(), Array.from({ length: 5_000 }, (_, i) => `throw${i}.com\n`).join(""));
    utimesSync(file(), new Date(at), new Date(at));
  };

  test.each([
    ["a mirror's file that is newer than the seed", 1, 2, "mirror"],
    ["a mirror's file that is older", -1, 2, "seed"],
    ["a seed of the future is not newer", -2, -1, "mirror"],
  ] as const)("%s", async (_, fileDays, nowDays, source) => {
    put(seedAt + fileDays * DAY_MS);
    const { report } = await loadAt(seedAt + nowDays * DAY_MS);
    expect(report).toMatchObject({ state: "loaded", source });
  });
  test("a last good copy that is older; without the seed, it is still used", async () => {
    put(seedAt - 3 * DAY_MS);
    expect((await loadAt(seedAt - 2 * DAY_MS)).report.source).toBe("mirror");
    rmSync(file());
    expect((await loadAt(seedAt + DAY_MS)).report.source).toBe("seed");
    const packageFolder = () => {
      throw new Error("not installed");
    };
    expect((await loadAt(seedAt + DAY_MS, { packageFolder })).report.source).toBe("last-good");
  });
  test("a publisher's copy, whatever its date; an older request's gives way to the seed without another request", async () => {
    let requests = 0;
    const body = Array.from({ length: 5_000 }, (_, i) => `throw${i}.com\n`).join("");
    const headers = { "last-modified": new Date(seedAt - 9 * DAY_MS).toUTCString() };
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        requests++;
        return new Response(body, { headers });
      },
    });
    const options = { dataDir: join(root, "data"), fetch: true, onlyDue: true, chance: () => 0.5 };
    const row = { ...feed, urls: () => [`http://127.0.0.1:${server.port}/list`] };
    const fetchAt = (at: number) => loadFeed(row, { ...options, now: new Date(at) }, undefined);
    try {
      expect((await fetchAt(seedAt - 1)).report.source).toBe("fetched");
      expect((await fetchAt(seedAt + 1)).report.source).toBe("seed");
      expect(requests).toBe(1);
      expect((await fetchAt(seedAt + 2.1 * DAY_MS)).report.source).toBe("fetched");
      expect((await fetchAt(seedAt + 2.1 * DAY_MS + 1)).report.source).toBe("fetched");
      expect(requests).toBe(2);
    } finally {
      await server.stop(true);
    }
  });
});

describe("what a load stores", () => {
  test("a request that counts against a budget is stored before it is sent: a build killed meanwhile has spent it", async () => {
    const feed = { ...TOR, budgetPerDay: 2 };
    let before: unknown;
    await loadFrom(feed, () => {
      before = state(feed);
      return 200;
    });
    const requests = [new Date(NOW).toISOString()];
    expect(before).toEqual({ attempts: { failures: 0, spread: 0.5, requests } });
    expect(state(feed).attempts).toMatchObject({ failures: 0, requests, okAt: requests[0] });
  });
  test("without a budget nothing is stored before the response", async () => {
    let files: string[] = [];
    await loadFrom(TOR, () => {
      files = filesOf(TOR);
      return 500;
    });
    expect(files).toEqual([]);
    expect(filesOf(TOR)).toEqual(["state.json"]);
  });
  test("a copy whose licence requires destruction is deleted, also when its publisher fails that day", async () => {
    const feed: Feed = { ...TOR, destroyOld: true };
    await loadFrom(feed, () => 200);
    expect(filesOf(feed)).toHaveLength(2);
    const { report } = await loadFrom(feed, () => 500, NOW + feed.age.dropHours * 3_600_000 + DAY_MS);
    expect(report).toMatchObject({ state: "expired", failures: 1 });
    expect(state(feed).copy).toBeUndefined();
    expect(filesOf(feed)).toEqual(["state.json"]);
  });
  test("an expired file in the mirror replaces no usable copy, also when its list is another, or is accepted", async () => {
    const path = join(root, "mirror", "tor-bulk-exits.txt");
    const old = new Date(Date.now() - 730 * DAY_MS);
    writeFileSync(path, LIST);
    await load(join(root, "mirror"));
    const good = state(TOR).copy;
    for (const list of [LIST, `${LIST}5.3.0.0\n`]) {
      writeFileSync(path, list);
      utimesSync(path, old, old);
      for (const accept of [false, true]) {
        const loaded = await load(join(root, "mirror"), { accept });
        const { report } = loaded;
        expect(report.held).toBeDefined();
        expect(report).toMatchObject({ state: "loaded", source: "last-good", entries: 500 });
        expect(report.error).toMatch(
          /^mirror: has the file time 20\S+, more than 14 days ago: an expired copy cannot replace/,
        );
        expect(loaded.content().networks?.[0]?.networks).toHaveLength(500);
        expect(state(TOR).copy).toEqual(good);
      }
    }
    const later = new Date(Date.now() + 15 * DAY_MS); // by then, the kept copy has expired as well
    expect((await load(join(root, "mirror"), { now: later })).report.state).toBe("expired");
  });
  test("a feed without its credentials sends no request and stores nothing", async () => {
    const needs = { optIn: { why: "key", terms: "" }, credentials: ["abuseipdbKey"] } as const;
    let requests = 0;
    const { report } = await loadFrom({ ...TOR, budgetPerDay: 1, ...needs }, () => {
      requests++;
      return 200;
    });
    expect([report.state, report.error, requests]).toEqual([
      "missing",
      "publisher: needs INKLING_ABUSEIPDB_KEY",
      0,
    ]);
    expect(filesOf(TOR)).toEqual([]);
  });
  test("a feed that is not due stores nothing", async () => {
    await loadFrom(TOR, () => 200);
    const files = () => filesOf(TOR).map((name) => statSync(join(root, "data/feeds", TOR.id, name)).ino);
    const before = files();
    await loadFrom(TOR, () => 500, NOW + 1, { onlyDue: true });
    expect(files()).toEqual(before);
  });
  test("a seed, or a list of ours, is not kept", async () => {
    for (const id of ["fakefilter", "tor-exit-networks"]) {
      const feed = FEEDS.find((row) => row.id === id)!;
      const options = { dataDir: join(root, "data"), fetch: false, onlyDue: false, chance: () => 0.5 };
      const { report } = await loadFeed(feed, { ...options, now: new Date(NOW) }, undefined);
      expect(report.state).toBe("loaded");
      expect(filesOf(feed)).toEqual([]);
    }
  });
});

describe("a monthly file, when there is a good copy: the month before is not requested when this month's", () => {
  const list = (at: number, text = LIST) =>
    new Response(text, { headers: { "last-modified": new Date(at).toUTCString() } });
  const DOUBLED = LIST + LIST.replaceAll("5.2.", "5.3.");

  test.each([
    ["fails", () => new Response("", { status: 500 }), /answered 500/, undefined],
    ["cannot be read", () => new Response("<html>"), /is a web page/, "/new"],
    ["differs too much", () => list(NOW, DOUBLED), /differs too much/, "/new"],
  ])("%s", async (_, answer, error, held) => {
    let newest = () => list(NOW - DAY_MS);
    const requested: string[] = [];
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) => {
        requested.push(new URL(url).pathname);
        return url.endsWith("/new") ? newest() : list(NOW - 3 * DAY_MS, `${LIST}5.9.0.1\n`);
      },
    });
    const urls = () => ["new", "old"].map((name) => `http://127.0.0.1:${server.port}/${name}`);
    const options = { dataDir: join(root, "data"), fetch: true, onlyDue: false, chance: () => 0.5 };
    const loadAt = (at: number) => loadFeed({ ...TOR, urls }, { ...options, now: new Date(at) }, undefined);
    try {
      await loadAt(NOW - DAY_MS);
      newest = answer;
      const { report } = await loadAt(NOW);
      expect(report).toMatchObject({ source: "last-good", error: expect.stringMatching(error), failures: 1 });
      const { url } = state(TOR).held ?? {};
      expect(url && new URL(url).pathname).toBe(held);
      expect(requested).toEqual(["/new", "/new"]);
    } finally {
      await server.stop(true);
    }
  });
});

describe("a mirror's user and password", () => {
  test("are sent, and are neither in the report nor in the stored state", async () => {
    let requests = 0;
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        requests++;
        const isKnown = request.headers.get("authorization") === `Basic ${btoa("reader:hunter@2")}`;
        return isKnown ? new Response(LIST) : new Response("no", { status: 401 });
      },
    });
    try {
      const withPassword = (password: string) => `http://reader:${password}@127.0.0.1:${server.port}/feeds/`;
      const refused = await load(withPassword("wrong"));
      expect(refused.report.error).toContain(" answered 401");
      const stray = await load(withPassword("100%"));
      expect(stray.report.error).toContain(" answered 401");
      const loaded = await load(withPassword("hunter%402"));
      expect([loaded.report.state, loaded.report.entries]).toEqual(["loaded", 500]);
      expect(requests).toBe(3);
      const kept = readdirSync(join(root, "data/feeds/tor-bulk-exits")).map((file) =>
        readFileSync(join(root, "data/feeds/tor-bulk-exits", file), "utf8"),
      );
      const stored = JSON.stringify([refused.report, loaded.report, kept]);
      for (const secret of ["hunter", "wrong", "reader"]) expect(stored).not.toContain(secret);
    } finally {
      await server.stop(true);
    }
  });
});

describe("the age of a file in a mirror", () => {
  const days = (count: number) => new Date(Date.now() - count * DAY_MS);
  const stated = (date: Date) => `# Last updated: ${date.toISOString()}\n${LIST}`;
  test.each([
    ["its own date decides, not that of the file", stated(days(15)), days(0), "expired"],
    [
      "also where the file has an older time, as cp -p and rsync -a leave it",
      stated(days(0)),
      days(800),
      "loaded",
    ],
    ["without a date of its own: when it was put there", LIST, days(0), "loaded"],
    ["the same, long ago", LIST, days(15), "expired"],
  ] as const)("%s", async (_, body, modified, state) => {
    const file = join(root, "mirror", `${TOR.id}.txt`);
    writeFileSync(file, body);
    utimesSync(file, modified, modified);
    const loaded = await load(join(root, "mirror"));
    const { report } = loaded;
    expect(report.state).toBe(state);
    expect(loaded.content().networks?.length ?? 0).toBe(state === "loaded" ? 1 : 0);
    if (state === "loaded") expect(report.error).toBeUndefined();
    else expect(report.error).toMatch(/ more than 14 days (ago|old): its claims are ignored$/);
  });
});

test("a mirror that does not answer: the feed is missing with the reason", async () => {
  const { report, trouble: list, event } = await load("http://127.0.0.1:1");
  const { trouble } = event;
  expect([report.state, list]).toEqual(["missing", "unreached"]);
  expect(report.error).toMatch(/^mirror: \S+ could not be reached: connection refused$/);
  expect(trouble).toEqual({ why: "connection refused", rest: "" });
  // The report keeps the trouble until the source is requested again, even if there are other problems.
  const again = { onlyDue: true, mirror: "http://127.0.0.1:1", fetch: false };
  const later = await loadFrom(TOR, () => 200, Date.now(), again);
  expect([later.report.error, later.event.trouble]).toEqual([report.error, trouble]);
  writeFileSync(join(root, "data/feeds/tor-bulk-exits/state.json"), "{");
  const { event: after, report: damaged } = await load("http://127.0.0.1:1");
  const both = after.trouble;
  expect(both?.why).toBe("connection refused");
  expect(both?.rest).toMatch(/^last-good: \S+ is damaged/);
  expect(damaged.error).toBe(`${report.error}; ${both?.rest}`);
});

describe("local paths", () => {
  test.each([
    ["a file that is refused", "<html></html>"],
    ["a file that is missing", undefined],
  ])("are not in the report: %s", async (_, content) => {
    const mirror = join(root, "mirror");
    if (content !== undefined) writeFileSync(join(mirror, "tor-bulk-exits.txt"), content);
    mkdirSync(join(root, "data/feeds/tor-bulk-exits"));
    writeFileSync(join(root, "data/feeds/tor-bulk-exits/state.json"), "{");
    const { report } = await load(mirror);
    expect(report.state).not.toBe("loaded");
    expect(report.error).toStartWith("mirror: ");
    expect(report.error).not.toContain(root);
  });
});
