// Tests publishers that misbehave, case by case. Each time, the last good data remains in use, the reason is shown, and
// the next good file is used. packages/compiler/misbehaving-publishers.md lists the same cases.

import { afterAll, beforeAll, beforeEach, describe, expect, mock, test } from "bun:test";
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { copyName } from "@inkling/contract";
import { DATA_FOLDER, readFeedsReport } from "@inkling/data";
import {
  domainKeys,
  EmailSegment,
  type FeedReport,
  feedsReport,
  hashWithKeys,
  IpSegment,
  parseIp,
  type Release,
  release,
} from "@inkling/engine";
import { drilled } from "../../../../test/harness/recorded-rows.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { KeptCopies, readFeedState } from "../fetch/feed-state.ts";
import type { FetchTimes } from "../fetch/fetch.ts";
import { type Script, startScript } from "../fetch/publisher.testing.ts";
import { type Build, build } from "./build.ts";
import type { BuildEvent, BuildOrder } from "./events.ts";

const HOUR = 3_600_000;
const realOpen = fs.openSync;
const DAY_1 = Date.UTC(2026, 7, 22, 12);
const DAY_2 = DAY_1 + 24 * HOUR;
const DAY_3 = DAY_2 + 24 * HOUR;
/** Far longer than a response takes on a slow machine. */
const TIMES: FetchTimes = { responseMs: 30_000, totalMs: 60_000 };

let script: Script;
let dataDir: string;
beforeAll(async () => {
  script = await startScript();
});
afterAll(() => script.stop());
beforeEach(() => {
  dataDir = temporaryFolder();
});

const row = (id: string, more: Partial<Feed> = {}): Feed => {
  const { seed: _, ...own } = FEEDS.find((feed) => feed.id === id)!;
  return {
    ...own,
    urls: () => [`${script.base}/list`],
    entries: { least: 3, most: 3_000 },
    maxBytes: 100_000,
    change: 0.4,
    ...more,
  };
};
const TOR = row("tor-bulk-exits");
const ABUSE = row("ipsum-3", { widest: { v4: 16, v6: 32 } });
const DROP = row("spamhaus-drop-v4");
const MAIL = row("disposable-email-domains");
const RESOLVERS = FEEDS.find(({ id }) => id === "public-resolvers")!;
const ORDINARY = FEEDS.find(({ id }) => id === "ordinary-mail")!;

/** A publisher's list on three days. Two entries change each day. */
interface List {
  readonly feed: Feed;
  readonly day: (n: number) => string;
  /** Whether the active data has this entry. "new" is an entry that appears on day 3. */
  readonly has: (manifest: Release, entry: "old" | "new") => boolean;
}

const segment = (report: { sha256: string } | undefined) =>
  readFileSync(join(dataDir, DATA_FOLDER.segmentFile(report!.sha256)));
const isFlagged = (manifest: Release, address: string): boolean => {
  const found = IpSegment.open(segment(manifest.segments.reputation), "reputation").lookup(parseIp(address)!);
  return found !== undefined && Buffer.from(found).includes("true");
};
const isDisposable = (manifest: Release, domain: string): boolean =>
  EmailSegment.open(segment(manifest.segments.email)).providers(domain) !== undefined;

const numbers = (count: number, from: number) => Array.from({ length: count }, (_, i) => from + i);
const addresses = (n: number, count = 200) =>
  numbers(count, 2 * n).map((k) => `45.66.${100 + (k >> 8)}.${k & 255}`);
const addressDay = (n: number) => `${addresses(n).join("\n")}\n`;
const hasAddress = (manifest: Release, entry: "old" | "new") =>
  isFlagged(manifest, entry === "old" ? "45.66.100.50" : "45.66.100.205");
const TOR_LIST: List = { feed: TOR, day: addressDay, has: hasAddress };
const ABUSE_LIST: List = { feed: ABUSE, day: addressDay, has: hasAddress };
const DROP_LIST: List = {
  feed: DROP,
  day: (n) => {
    const rows = addresses(n).map((address) =>
      JSON.stringify({ cidr: `${address}/32`, sblid: "SBL1", rir: "ripe" }),
    );
    const timestamp = Math.floor((DAY_1 + n * 24 * HOUR) / 1000) - 90_000;
    const end = { type: "metadata", timestamp, size: 1, records: rows.length, copyright: "(c)", terms: "x" };
    return `${rows.join("\n")}\n${JSON.stringify(end)}\n`;
  },
  has: hasAddress,
};
const MAIL_LIST: List = {
  feed: MAIL,
  day: (n) =>
    numbers(200, 2 * n)
      .map((k) => `disposable-${k}.com\n`)
      .join(""),
  has: (manifest, entry) =>
    isDisposable(manifest, entry === "old" ? "disposable-50.com" : "disposable-205.com"),
};

const dated = (time: number) => ({ "last-modified": new Date(time).toUTCString() });
const send = (response: ServerResponse, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  response.writeHead(200, headers).end(body);
/** Responds with a good file of day `n`. */
const good = (list: List, n: number) => (_: unknown, response: ServerResponse) =>
  void send(response, list.day(n), dated(DAY_1 + (n - 1) * 24 * HOUR));

const events: BuildEvent[] = [];
const run = async (
  feed: Feed | readonly Feed[],
  now: number,
  order: Partial<BuildOrder> = {},
  times = TIMES,
): Promise<Build> => {
  events.length = 0;
  return build(
    { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {}, ...order } as Parameters<
      typeof build
    >[0],
    {
      now: () => new Date(now),
      chance: () => 0.5,
      drawWord: () => 2 ** 31,
      emit: (event) => events.push(event),
      feeds: [feed].flat(),
      times,
    },
  );
};
const current = (): Release => {
  const name = readFileSync(join(dataDir, DATA_FOLDER.current), "utf8").trim();
  return release.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8")));
};
/** Returns the feed's report, as status shows it. */
const shown = (): FeedReport =>
  feedsReport.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.feedsReport), "utf8"))).feeds[0]!;

/** A row in misbehaving-publishers.md. */
interface Row {
  readonly name: string;
  readonly outcome: string;
}

interface Case extends Row {
  readonly list?: List;
  readonly bad: (response: ServerResponse, list: List) => unknown;
  /** What status shows. */
  readonly error: RegExp;
  /** The publisher did not answer. */
  readonly isUnreached?: true;
  /** How long the publisher may take. */
  readonly times?: typeof TIMES;
}

/** The publisher sends no copy, or sends a copy that looks wrong. */
const BAD: readonly Case[] = [
  {
    name: "429 with Retry-After",
    outcome: "not fetched; retried after that time, also by `data update`",
    bad: (response) => response.writeHead(429, { "retry-after": "7200" }).end(),
    error: /answered 429 Too Many Requests/,
  },
  {
    name: "401",
    outcome: "not fetched; retried with growing pauses",
    bad: (response) => response.writeHead(401).end("who are you?"),
    error: /answered 401 Unauthorized/,
  },
  {
    name: "500",
    outcome: "not fetched; retried with growing pauses",
    bad: (response) => response.writeHead(500).end("oops"),
    error: /answered 500 Internal Server Error/,
  },
  {
    name: "a redirect to http",
    outcome: "not followed",
    bad: (response) => response.writeHead(302, { location: "http://publisher.example/list" }).end(),
    error: /redirects to a host that is not allowed/,
  },
  {
    name: "a slow drip",
    outcome: "aborted at the time limit",
    bad: (response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("4"), 5);
      response.on("close", () => clearInterval(timer));
    },
    error: /took longer than 300 ms/,
    times: { ...TIMES, totalMs: 300 },
  },
  {
    name: "an answer that stops",
    outcome: "aborted after 20 s without another part",
    bad: (response) => void response.writeHead(200).write("4"),
    error: /sent nothing for 300 ms/,
    times: { ...TIMES, responseMs: 300 },
  },
  {
    name: "a redirect to the host of an internal service",
    outcome:
      "not followed: a redirect to another host needs HTTPS, and the feed's definition must contain the host",
    bad: (response) => response.writeHead(302, { location: "http://169.254.169.254/latest" }).end(),
    error: /redirects to a host that is not allowed$/,
  },
  {
    name: "no answer at all",
    outcome: "aborted at the time limit",
    bad: () => undefined,
    error: /could not be reached: no response within 150 ms/,
    times: { ...TIMES, responseMs: 150 },
    isUnreached: true,
  },
  {
    name: "a cut connection",
    outcome: "not fetched: fewer bytes than announced",
    bad: (response, list) => {
      const body = list.day(2);
      response.writeHead(200, { "content-length": String(body.length) });
      response.write(body.slice(0, 1_000), () => response.socket?.destroy());
    },
    error: /could not be fetched/,
  },
  {
    name: "HTML instead of data",
    outcome: "held",
    bad: (response) =>
      send(response, "<!doctype html><title>Sign in</title>", { "content-type": "text/plain" }),
    error: /is a web page, not a list$/,
  },
  {
    name: "a gzip bomb",
    outcome: "not fetched: stopped while it unpacks, at the feed's size limit",
    bad: (response) => send(response, gzipSync(Buffer.alloc(2 ** 24, "4"))),
    error: /is larger than 100000 bytes/,
  },
  {
    name: "an empty file",
    outcome: "held: it is empty",
    bad: (response) => send(response, ""),
    error: /is empty/,
  },
  {
    name: "a list that doubled",
    outcome: "held: grew by more than the feed's limit",
    bad: (response) => send(response, `${addresses(2, 400).join("\n")}\n`, dated(DAY_2)),
    error:
      /differs too much from the last good copy: 202 added and 2 removed of 200, but at most 40% are expected/,
  },
  {
    name: "a list that halved",
    outcome: "held: shrank by more than the feed's limit",
    bad: (response) => send(response, `${addresses(2, 100).join("\n")}\n`, dated(DAY_2)),
    error: /differs too much from the last good copy: 0 added and 100 removed of 200/,
  },
  {
    name: "yesterday's file again",
    outcome: "held: older than the last good copy by its own date or Last-Modified",
    bad: (response) => send(response, addressDay(0), dated(DAY_1 - 24 * HOUR)),
    error: /is from 2026-08-21T12:00:00\.000Z, before the last good copy from 2026-08-22T12:00:00\.000Z/,
  },
  {
    name: "a date in the future",
    outcome: "held: more than a day ahead of this machine's clock",
    bad: (response) => send(response, addressDay(2), dated(DAY_2 + 49 * HOUR)),
    error: /has a date in the future: 2026-08-25T13:00:00\.000Z/,
  },
  {
    name: "a build date in the future, in the data",
    outcome: "held: more than a day ahead of this machine's clock",
    list: DROP_LIST,
    bad: (response, list) => send(response, list.day(9)),
    error: /has a date in the future/,
  },
  {
    name: "`0.0.0.0/0`",
    outcome: "held: a network wider than the feed can hold",
    list: ABUSE_LIST,
    bad: (response) => send(response, `${addressDay(2)}0.0.0.0/0\n`, dated(DAY_2)),
    error: /line 201: is too wide: a \/0; the widest allowed is \/8/,
  },
  {
    name: "a /12 in a list whose widest is a /16",
    outcome: "held: a network wider than the feed can hold",
    list: ABUSE_LIST,
    bad: (response) => send(response, `${addressDay(2)}45.0.0.0/12\n`, dated(DAY_2)),
    error: /has a network of \/12 \(IPv4\): \/16 is the widest allowed/,
  },
  {
    name: "more lines than the list may have entries and comments",
    outcome: "held before it is parsed: the parser would need more memory than a build has",
    list: ABUSE_LIST,
    bad: (response) => send(response, `${addressDay(2)}${"#\n".repeat(40_000)}`, dated(DAY_2)),
    error: /has \d+ lines, but at most \d+ are parsed: at most \d+ entries are expected/,
  },
  {
    name: "a 1 GB line",
    outcome: "not fetched: stopped while it streams, at the feed's size limit",
    bad: (response) => {
      response.writeHead(200);
      const part = Buffer.alloc(2 ** 20, "4");
      let sent = 0;
      const more = () => {
        while (sent < 2 ** 30 && !response.destroyed) {
          sent += part.length;
          if (!response.write(part)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    },
    error: /is larger than 100000 bytes/,
  },
];

/** In the table of docs/faults.md. docs/feed-checks.md has all cases. */
const DRILLED = ["a slow drip", "a gzip bomb", "a 1 GB line", "no answer at all"];

describe("a publisher that misbehaves", () => {
  test.each(BAD.map((row) => [row.name, row] as const))(
    "%s",
    async (name, { list = TOR_LIST, outcome, bad, error, isUnreached, times }) => {
      const { feed } = list;
      script.answer = good(list, 1);
      const first = await run(feed, DAY_1);
      expect(list.has(current(), "old")).toBe(true);
      expect(shown()).toMatchObject({ state: "loaded", source: "fetched" });
      expect(shown().error).toBeUndefined();

      script.answer = (_, response) => void bad(response, list);
      const second = await run(feed, DAY_2, {}, times);
      expect(shown().error).toMatch(error);
      expect(shown()).toMatchObject({ state: "loaded", source: "last-good", failures: 1 });
      expect(shown().fetched_at).toBe(new Date(DAY_1).toISOString());
      const lists = { held: [], failed: [], unreached: [] };
      const isHeld = outcome.startsWith("held");
      const found = { [isHeld ? "held" : isUnreached ? "unreached" : "failed"]: [feed.id] };
      expect(second).toMatchObject({ published: false, name: first.name, ...lists, ...found });
      expect(shown().held !== undefined).toBe(isHeld);
      expect(events.find((event) => event.type === "feed")).toMatchObject({ feed: { error: shown().error } });
      expect(list.has(current(), "old")).toBe(true);
      expect(list.has(current(), "new")).toBe(false);

      script.answer = (request, response) => {
        // The next request revalidates a held copy that can be read, and otherwise the last good copy.
        const day1 = dated(DAY_1)["last-modified"];
        expect(request.headers["if-modified-since"] === day1).toBe(!isHeld);
        good(list, 3)(request, response);
      };
      const third = await run(feed, DAY_3);
      expect(third).toMatchObject({ published: true, held: [], failed: [] });
      expect(shown().error).toBeUndefined();
      expect(shown().failures).toBeUndefined();
      expect(shown().held).toBeUndefined();
      expect(list.has(current(), "new")).toBe(true);
      if (DRILLED.includes(name))
        drilled(import.meta.path, `a feed: ${name}`, "the flags of before", `the copy of before; ${outcome}`);
    },
  );
});

interface Taken extends Row {
  readonly list?: List;
  readonly feeds?: readonly Feed[];
  readonly body: (list: List) => string;
  /** Whether the release has no claim about the bad entries. */
  readonly never: (manifest: Release) => boolean;
  /** The text that tells the operator that an entry was left out. */
  readonly reports?: RegExp;
}

/** The copy is good except for an entry that must have no effect. */
const TAKEN: readonly Taken[] = [
  {
    name: "private networks (RFC 1918)",
    outcome: "taken; private and other special-use networks are skipped, counted, and never flagged",
    list: ABUSE_LIST,
    body: (list) => `${list.day(2)}10.1.2.3\n192.168.0.0/16\n`,
    never: (manifest) => isFlagged(manifest, "10.1.2.3") || isFlagged(manifest, "192.168.1.1"),
    reports: /"entries":2,"first":"line 201: 10\.1\.2\.3\/32 is private: never flagged"/,
  },
  {
    name: "1.1.1.1",
    outcome: "taken; guards prevent the flag, and the build reports it",
    list: ABUSE_LIST,
    feeds: [RESOLVERS],
    body: (list) => `${list.day(2)}1.1.1.1\n`,
    never: (manifest) => isFlagged(manifest, "1.1.1.1"),
    reports: /ipsum-3 is overruled by public-resolvers: 1\.1\.1\.1\/32/,
  },
  {
    name: "`com`",
    outcome: "taken; a public suffix is skipped, counted, and never disposable",
    list: MAIL_LIST,
    body: (list) => `${list.day(2)}com\n`,
    never: (manifest) => isDisposable(manifest, "example.com"),
    reports: /"entries":1,"first":"line 201: /,
  },
  {
    name: "`edu.pl`",
    outcome: "taken; a public suffix is skipped, counted, and never disposable",
    list: MAIL_LIST,
    body: (list) => `${list.day(2)}edu.pl\n`,
    never: (manifest) => isDisposable(manifest, "uni.edu.pl"),
    reports: /"entries":1,"first":"line 201: edu\.pl is a public suffix: never flagged"/,
  },
  {
    name: "`gmail.com`",
    outcome: "taken; one list cannot make ordinary mail disposable, and the disagreement is reported",
    list: MAIL_LIST,
    feeds: [ORDINARY],
    body: (list) => `${list.day(2)}gmail.com\n`,
    never: (manifest) => isDisposable(manifest, "gmail.com"),
    reports: /"domain":"gmail\.com","verdict":"not disposable"/,
  },
  {
    name: "a byte-order mark and CRLF",
    outcome: "accepted and ignored",
    body: (list) => `\uFEFF${list.day(2).replaceAll("\n", "\r\n")}`,
    never: (manifest) => !isFlagged(manifest, addresses(2)[0]!) || !isFlagged(manifest, addresses(2)[199]!),
  },
];

describe("a copy with entries that must not count", () => {
  test.each(TAKEN.map((row) => [row.name, row] as const))(
    "%s",
    async (_name, { list = TOR_LIST, feeds = [], body, never, reports }) => {
      const { feed } = list;
      script.answer = good(list, 1);
      await run([feed, ...feeds], DAY_1);
      script.answer = (_, response) => void send(response, body(list), dated(DAY_2));
      const second = await run([feed, ...feeds], DAY_2);
      expect(second).toMatchObject({ published: true, held: [] });
      expect(list.has(current(), "old")).toBe(true);
      expect(never(current())).toBe(false);
      if (reports !== undefined) expect(JSON.stringify([shown(), ...events])).toMatch(reports);
      script.answer = good(list, 3);
      await run([feed, ...feeds], DAY_3);
      expect(list.has(current(), "new")).toBe(true);
      expect(shown().skipped).toBeUndefined();
    },
  );
});

const CUT: Row = {
  name: "truncated at every 4 KiB",
  outcome:
    "held: shorter than announced, unparsable, too small, or its last line is the beginning of an earlier line",
};
describe(CUT.name, () => {
  const JSON_LIST: List = {
    feed: row("monosans-proxies"),
    day: (n) =>
      JSON.stringify(
        addresses(n).map((host) => ({
          protocol: "http",
          host,
          port: 80,
          exit_ip: host,
          timeout: 1,
          geolocation: null,
        })),
      ),
    has: hasAddress,
  };
  // No part of a line is another valid line. Otherwise a truncated file would be harmless and pass.
  const wide = (n: number) =>
    numbers(1_500, 2 * n).map((k) => `45.66.${100 + Math.floor(k / 100)}.${100 + (k % 100)}`);
  const lists: readonly [name: string, list: List][] = [
    [
      "a plain list",
      {
        ...TOR_LIST,
        day: (n) => `# a list\n${wide(n).join("\n")}\n`,
        has: (manifest, entry) => isFlagged(manifest, entry === "old" ? "45.66.100.102" : "45.66.115.105"),
      },
    ],
    ["JSON lines that count themselves", DROP_LIST],
    ["JSON", JSON_LIST],
    [
      "domains",
      {
        ...MAIL_LIST,
        day: (n) =>
          numbers(800, 2 * n)
            .map((k) => `disposable-${k}.com\n`)
            .join(""),
      },
    ],
  ];
  test.each(lists)("%s", async (_name, list) => {
    script.answer = good(list, 1);
    const { name } = await run(list.feed, DAY_1);
    const body = Buffer.from(list.day(2));
    let cuts = 0;
    for (let length = 4_096; length < body.length; length += 4_096) {
      script.answer = (_, response) => void send(response, body.subarray(0, length), dated(DAY_2));
      const second = await run(list.feed, DAY_2 + length);
      expect(second).toMatchObject({ published: false, name, held: [list.feed.id] });
      expect(shown().error).toMatch(/truncated|announces|not JSON|differs too much/);
      cuts++;
    }
    expect(cuts).toBeGreaterThan(1);
    expect(list.has(current(), "old")).toBe(true);
    script.answer = good(list, 3);
    expect(await run(list.feed, DAY_3)).toMatchObject({ published: true, held: [] });
  });
});

/**
 * Returns names that fit into no table if every word of its keys is 2^31. Only a test can predict the keys; a publisher
 * cannot.
 */
function crowdedNames(slots: number): string[] {
  const found = new Set<string>();
  for (let draws = 0, count = slots; draws < 12; draws++) {
    if (draws >= 8) count *= 2;
    const keys = domainKeys(2 ** 31, 2 ** 31 + draws);
    for (let i = 0, left = 65; left > 0; i++) {
      const name = `x${draws}-${(Math.imul(i, 0x9e3779b1) >>> 0).toString(36)}.com`;
      if ((hashWithKeys(name, keys) & (count - 1)) !== 7) continue;
      found.add(name);
      left--;
    }
  }
  return [...found];
}

test("a build that fails as a whole is reported until one succeeds", async () => {
  const failed = () => readFeedsReport(dataDir)?.failed;
  script.answer = good(TOR_LIST, 1);
  await run(TOR, DAY_1);
  expect(failed()).toBeUndefined();
  const current = join(dataDir, "current");
  const pointer = readFileSync(current);
  rmSync(current);
  mkdirSync(join(current, "in-the-way"), { recursive: true });
  script.answer = good(TOR_LIST, 2);
  await expect(run(TOR, DAY_2)).rejects.toThrow();
  expect(failed()).toEqual({ at: new Date(DAY_2).toISOString(), why: expect.stringMatching(/EISDIR/) });
  rmSync(current, { recursive: true });
  writeFileSync(current, pointer);
  await run(TOR, DAY_3);
  expect(failed()).toBeUndefined();
});

describe("if a segment cannot be built", () => {
  const limits = { entries: { least: 3, most: 10_000 } };
  const mail = row("disposable-email-domains", { ...limits, urls: () => [`${script.base}/mail`] });
  const other = row("disposable-domains", { ...limits, urls: () => [`${script.base}/other`] });
  const tor = row("tor-bulk-exits", { urls: () => [`${script.base}/tor`] });
  const ordinary = numbers(4_000, 0).map((k) => `disposable-${k}.com`);
  const FIRST = {
    mail: ordinary,
    other: ["other-a.com", "other-b.com", "other-c.com", "other-d.com"],
    tor: addresses(1),
  };
  const serve = (lists: typeof FIRST) => {
    script.answer = ({ url }, response) =>
      void send(response, `${lists[url!.slice(1) as keyof typeof FIRST].join("\n")}\n`);
  };
  const BROKEN = {
    mail: [...ordinary, ...crowdedNames(8_192)],
    other: [...FIRST.other, "other-e.com"],
    tor: addresses(2),
  };
  const all = [mail, other, tor];
  const kept = (feed: Feed) => readFeedState(feed, dataDir);
  const entries = (feed: Feed) => [kept(feed).copy?.entries, kept(feed).held?.why];

  test("the new copies of its feeds are held together, and the rest is published", async () => {
    serve(FIRST);
    await run(all, DAY_1);
    serve(BROKEN);
    expect(await run(all, DAY_2)).toMatchObject({ published: true, held: [mail.id, other.id], failed: [] });
    expect(isFlagged(current(), addresses(2).at(-1)!)).toBe(true);
    expect(isDisposable(current(), "disposable-7.com")).toBe(true);
    expect(isDisposable(current(), "other-e.com")).toBe(false);
    const why = expect.stringMatching(
      /^the email segment cannot be built: email table: \d+ names do not fit/,
    );
    const shows = {
      state: "loaded",
      source: "last-good",
      failures: 1,
      held: { sha256: expect.any(String), why },
    };
    expect(shown()).toMatchObject({ id: mail.id, ...shows });
    expect(shown().error).toBe(`publisher: ${shown().held!.why}`);
    expect([mail, other].map(entries)).toEqual([
      [4_000, why],
      [4, why],
    ]);
    const ids = `${mail.id}, ${other.id}`;
    expect(events).toContainEqual({
      type: "note",
      text: expect.stringContaining(`the new copies of ${ids} are held: the email segment`),
    });
    // What the first attempt said about the domains is not said again.
    const conflicts = events.filter(({ type }) => type === "conflict");
    expect(new Set(conflicts.map((event) => JSON.stringify(event))).size).toBe(conflicts.length);
  });

  test("an innocent copy passes when it is checked again without the cause, and the next good copy is used", async () => {
    serve(FIRST);
    await run(all, DAY_1);
    serve(BROKEN);
    await run(all, DAY_2);
    serve({ ...BROKEN, mail: FIRST.mail });
    expect(await run(all, DAY_2 + HOUR)).toMatchObject({ published: true, held: [] });
    expect(isDisposable(current(), "other-e.com")).toBe(true);
    serve({ ...BROKEN, mail: [...ordinary, "new.com"] });
    expect(await run(all, DAY_3)).toMatchObject({ published: true, held: [] });
    expect(isDisposable(current(), "new.com")).toBe(true);
    expect([mail, other].map((feed) => kept(feed).held)).toEqual([undefined, undefined]);
  });

  test("a copy that the operator accepts is held again, and nothing is published", async () => {
    serve(FIRST);
    const { name } = await run([mail, tor], DAY_1);
    serve({ ...BROKEN, tor: FIRST.tor });
    await run([mail, tor], DAY_2);
    const accepted = await run([mail, tor], DAY_2 + 1, { accept: [mail.id] });
    expect(accepted).toMatchObject({ published: false, name, held: [mail.id] });
    expect(isDisposable(current(), "disposable-7.com")).toBe(true);
  });

  test("and no copy is new, the build fails", async () => {
    serve(FIRST);
    const { name } = await run([mail, tor], DAY_1);
    // As after an upgrade: the last good copy is one of which this version can build no segment.
    serve({ ...BROKEN, tor: FIRST.tor });
    await run([mail, tor], DAY_2);
    const { copy, held, ...rest } = kept(mail);
    const { why: _, ...unexpected } = held!;
    new KeptCopies(mail, dataDir).write({ ...rest, copy: unexpected });
    await expect(run([mail, tor], DAY_2 + 1, { fetch: false })).rejects.toThrow("names do not fit");
    expect(readFeedsReport(dataDir)?.failed?.why).toContain("names do not fit");
    expect(current().id).toBe(name.slice(-12));
  });
});

describe("copies and releases that an earlier version stored", () => {
  const path = (file: string) => join(dataDir, "feeds", TOR.id, file);
  const state = () => JSON.parse(readFileSync(path("state.json"), "utf8"));

  test("a pending copy is held, and can be accepted", async () => {
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1);
    script.answer = (_, response) => void send(response, `${addresses(2, 400).join("\n")}\n`, dated(DAY_2));
    await run(TOR, DAY_2);
    const { held, ...rest } = state();
    const file = held.file.replace("body-", "pending-");
    renameSync(path(held.file), path(file));
    const refused = { sha256: "0".repeat(64), why: "no segment can be built with it", code: "" };
    writeFileSync(path("state.json"), JSON.stringify({ ...rest, refused, pending: { ...held, file } }));
    expect(await run(TOR, DAY_2 + 1, { onlyDue: true })).toMatchObject({ published: false, held: [TOR.id] });
    expect(shown().held).toEqual({ sha256: held.sha256, why: held.why });
    await run(TOR, DAY_2 + 2, { accept: [TOR.id] });
    expect(shown()).toMatchObject({ state: "loaded", entries: 400 });
  });

  test("a candidate is used by the next build", async () => {
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1);
    const { copy, ...rest } = state();
    writeFileSync(path("state.json"), JSON.stringify({ ...rest, candidate: copy }));
    expect(await run(TOR, DAY_1 + 1, { onlyDue: true })).toMatchObject({ published: false, held: [] });
    expect(state().copy.sha256).toBe(copy.sha256);
  });

  test("a held release is removed with a note, and its copies are checked again", async () => {
    const most = {
      widest: { v4: 24, v6: 64 },
      change: Number.POSITIVE_INFINITY,
    };
    const feed = row("tor-bulk-exits", most);
    script.answer = good(TOR_LIST, 1);
    const { name } = await run(feed, DAY_1);
    script.answer = (_, response) => {
      const wide = numbers(1_600, 0).map((k) => `45.${k >> 8}.${k & 255}.0/24\n`);
      send(response, wide.join(""), dated(DAY_2));
    };
    await run(feed, DAY_2);
    // An earlier version made the copies of a held release the last good ones.
    const { copy, held, ...rest } = state();
    const { why, ...stored } = held;
    expect(why).toMatch(
      /^the release fails its check: is_tor_exit: .* would be flagged, but at most 0\.010%/,
    );
    writeFileSync(path("state.json"), JSON.stringify({ ...rest, copy: stored }));
    const file = join(dataDir, "releases/held.json");
    writeFileSync(file, JSON.stringify(current()));
    const building = run(feed, DAY_2 + 1, { onlyDue: true });
    await expect(building).rejects.toThrow("`inkling data update --accept release` publishes it anyway");
    expect(events[0]).toEqual({
      type: "note",
      text: expect.stringContaining("that an earlier version held"),
    });
    expect(existsSync(file)).toBe(false);
    expect(current().id).toBe(name.slice(-12));
    const accepted = await run(feed, DAY_2 + 2, { onlyDue: true, accept: ["release"] });
    expect(accepted).toMatchObject({ published: true, held: [] });
  });
});

const NOT_MODIFIED: Row = {
  name: "304",
  outcome: "the copy is confirmed: status shows the new time, and no release is built",
};
test(NOT_MODIFIED.name, async () => {
  script.answer = good(TOR_LIST, 1);
  const { name } = await run(TOR, DAY_1);
  script.answer = (request, response) => {
    expect(request.headers["if-modified-since"]).toBe(dated(DAY_1)["last-modified"]);
    response.writeHead(304).end();
  };
  expect(await run(TOR, DAY_2)).toMatchObject({ published: false, name, held: [], failed: [] });
  const at = new Date(DAY_2).toISOString();
  expect(shown()).toMatchObject({ source: "fetched", fetched_at: at, checked_at: at });
  expect(shown().error).toBeUndefined();
  script.answer = good(TOR_LIST, 3);
  expect(await run(TOR, DAY_3)).toMatchObject({ published: true });
  expect(hasAddress(current(), "new")).toBe(true);
});

const DISK_FULL: Row = {
  name: "ENOSPC on write",
  outcome: "nothing is published, and the build fails with the reason; the next build succeeds",
};
describe(DISK_FULL.name, () => {
  /** Files that a build writes, under their known names. */
  const sha = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
  const files: readonly [name: string, file: string][] = [
    ["the kept body", `body-${sha(addressDay(2))}.txt`],
    ["the feed's state", "state.json"],
    ["the pointer", "current"],
  ];
  test.each(files)("%s", async (name, file) => {
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1);
    script.answer = good(TOR_LIST, 2);
    let isOpened = false;
    const openSync: typeof fs.openSync = (path, ...rest) => {
      if (rest[0] === "r" || !String(path).endsWith(`-${file}`)) return realOpen(path, ...rest);
      isOpened = true;
      return realOpen("/dev/full", "w");
    };
    mock.module("node:fs", () => ({ ...fs, openSync }));
    const failure = await run(TOR, DAY_2).then(
      () => undefined,
      (error) => error as NodeJS.ErrnoException,
    );
    mock.module("node:fs", () => ({ ...fs, openSync: realOpen }));
    expect(isOpened).toBe(true);
    expect(failure?.code).toBe("ENOSPC");
    expect(hasAddress(current(), "old")).toBe(true);
    script.answer = good(TOR_LIST, 3);
    expect(await run(TOR, DAY_3)).toMatchObject({ published: true, held: [], failed: [] });
    expect(hasAddress(current(), "new")).toBe(true);
    const fault = `the disk is full when a build writes ${name}`;
    drilled(import.meta.path, fault, "the flags of before", "the release of before; the next build succeeds");
  });
});

const KILLED: Row = {
  name: "SIGKILL at 200 random moments",
  outcome: "the data folder always opens with the old release or the new one, and the next build succeeds",
};

describe("between builds", () => {
  test("Retry-After is honoured by hand and by schedule, and the reason stays visible", async () => {
    script.answer = (_, response) => void response.writeHead(503, { "retry-after": "7200" }).end();
    await run(TOR, DAY_1);
    const requestsBefore = script.count;
    for (const onlyDue of [true, false]) {
      await run(TOR, DAY_1 + HOUR, { onlyDue });
      expect(script.count).toBe(requestsBefore);
      expect(shown().error).toMatch(
        /on hold until 2026-08-22T14:00:00\.000Z, as its publisher's Retry-After requires; publisher: .* answered 503/,
      );
    }
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1 + 2 * HOUR, { onlyDue: true });
    expect(script.count).toBe(requestsBefore + 1);
    expect(shown()).toMatchObject({ state: "loaded", source: "fetched" });
    expect(shown().error).toBeUndefined();
  });

  test("a feed that is not due is not requested and counts as fetched; a failing one is retried sooner", async () => {
    script.answer = good(TOR_LIST, 1);
    const { nextDue, name } = await run(TOR, DAY_1);
    const requestsBefore = script.count;
    expect(await run(TOR, Date.parse(nextDue!) - 1, { onlyDue: true })).toMatchObject({
      published: false,
      nextDue,
    });
    expect(script.count).toBe(requestsBefore);
    expect(shown()).toMatchObject({ state: "loaded", source: "fetched", next_check_at: nextDue! });
    script.answer = (_, response) => void response.writeHead(500).end();
    const failed = await run(TOR, Date.parse(nextDue!), { onlyDue: true });
    expect(script.count).toBe(requestsBefore + 1);
    expect(Date.parse(failed.nextDue!) - Date.parse(nextDue!)).toBe(0.75 * 5 * 60_000);
    // The next build keeps the failure and sends no request.
    expect(await run(TOR, Date.parse(nextDue!) + 1, { onlyDue: true })).toMatchObject({ failed: [], name });
    expect(script.count).toBe(requestsBefore + 1);
    expect(shown()).toMatchObject({ source: "last-good", failures: 1 });
    expect(shown().error).toMatch(/answered 500/);
  });

  test("the same list with a new date is a newer one, and with a date in the future it is held", async () => {
    script.answer = good(TOR_LIST, 1);
    const { name } = await run(TOR, DAY_1);
    script.answer = (_, response) => void send(response, addressDay(1), dated(DAY_2));
    expect(await run(TOR, DAY_2)).toMatchObject({ published: false, name });
    expect(shown().published_at).toBe(new Date(DAY_2).toISOString());
    script.answer = (_, response) => void send(response, addressDay(1), dated(DAY_2 + 99 * HOUR));
    expect(await run(TOR, DAY_2 + HOUR)).toMatchObject({ published: false, name, held: [TOR.id] });
    expect(shown().published_at).toBe(new Date(DAY_2).toISOString());
  });

  test("failures and Retry-After of a mirror do not affect the publisher, nor the other way round", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "free-mail.txt"), "");
    await run(TOR, DAY_1, { mirror: folder });
    expect(shown().error).toBe("mirror: the mirror has no file tor-bulk-exits.*");
    // Without the mirror, the publisher is requested at once. It responds with a Retry-After of one hour.
    script.answer = (_, response) => void response.writeHead(429, { "retry-after": "3600" }).end();
    await run(TOR, DAY_1 + 1, { onlyDue: true });
    expect(shown().error).toMatch(/^publisher: \S+ answered 429/);
    // A new mirror is requested nevertheless. Its response does not end the publisher's Retry-After.
    const mirror = `${script.base}/mirror`;
    const requestsBefore = script.count;
    script.answer = (_, response) => void response.writeHead(429, { "retry-after": "7200" }).end();
    await run(TOR, DAY_1 + 2, { mirror, onlyDue: true });
    expect(script.count).toBe(requestsBefore + 1);
    expect(shown().error).toMatch(/^mirror: \S+ answered 429/);
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1 + 3, {});
    expect(script.count).toBe(requestsBefore + 1);
    expect(shown().error).toMatch(/^on hold until 2026-08-22T13:00.*; publisher: \S+ answered 429/);
    await run(TOR, DAY_1 + HOUR + 1, {});
    expect(shown()).toMatchObject({ state: "loaded", source: "fetched" });
    expect(shown().error).toBeUndefined();
  });

  test("a day's budget survives restarts and holds for manual builds", async () => {
    const feed = row("tor-bulk-exits", { budgetPerDay: 2 });
    script.answer = (_, response) => void response.writeHead(500).end();
    await run(feed, DAY_1);
    await run(feed, DAY_1 + HOUR);
    const requestsBefore = script.count;
    const held = await run(feed, DAY_1 + 2 * HOUR);
    expect(script.count).toBe(requestsBefore);
    expect(shown().error).toMatch(
      /on hold until 2026-08-23T12:00:00\.000Z: the 2 downloads a day .* are used up/,
    );
    expect(held.nextDue).toBe(new Date(DAY_2).toISOString());
    await run(feed, DAY_2);
    expect(script.count).toBe(requestsBefore + 1);
  });

  test("--accept of a copy that is no longer held exempts no other copy from the check of the release", async () => {
    const feed = row("tor-bulk-exits", { widest: { v4: 24, v6: 64 }, change: Number.POSITIVE_INFINITY });
    script.answer = good(TOR_LIST, 1);
    await run(feed, DAY_1);
    script.answer = (_, response) => {
      const wide = numbers(1_600, 0).map((k) => `45.${k >> 8}.${k & 255}.0/24\n`);
      send(response, wide.join(""), dated(DAY_2));
    };
    const other = { accept: [copyName(feed.id, "0".repeat(64))] };
    expect(await run(feed, DAY_2, other)).toMatchObject({ published: false, held: [feed.id] });
    expect(shown().held?.why).toMatch(/^the release fails its check/);
  });

  test("--accept takes exactly the held copy, without a request", async () => {
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1);
    const doubled = `${addresses(2, 400).join("\n")}\n`;
    script.answer = (_, response) => void send(response, doubled, dated(DAY_2));
    await run(TOR, DAY_2);
    expect(shown().held?.sha256).toBe(new Bun.CryptoHasher("sha256").update(doubled).digest("hex"));
    // The held copy is revalidated, not fetched again.
    script.answer = (request, response) => {
      expect(request.headers["if-modified-since"]).toBe(dated(DAY_2)["last-modified"]);
      response.writeHead(304).end();
    };
    expect(await run(TOR, DAY_2 + HOUR)).toMatchObject({ published: false, held: [TOR.id] });
    expect(hasAddress(current(), "new")).toBe(false);
    const other = { accept: [copyName(TOR.id, "0".repeat(64))] };
    expect(await run(TOR, DAY_2 + 1.5 * HOUR, other)).toMatchObject({ published: false, held: [TOR.id] });
    const requestsBefore = script.count;
    expect(
      await run(TOR, DAY_2 + 2 * HOUR, { accept: [copyName(TOR.id, shown().held!.sha256)] }),
    ).toMatchObject({
      published: true,
      held: [],
    });
    expect(script.count).toBe(requestsBefore);
    expect(shown().held).toBeUndefined();
    expect(shown().entries).toBe(400);
    expect(hasAddress(current(), "new")).toBe(true);
  });

  test("a stale copy is used and reported; an expired one is dropped, and the answer is missing", async () => {
    script.answer = good(TOR_LIST, 1);
    await run(TOR, DAY_1);
    script.answer = (_, response) => void response.writeHead(500).end();
    const { staleHours, dropHours } = TOR.age;
    await run(TOR, DAY_1 + staleHours * HOUR);
    expect(shown().stale).toBeUndefined();
    await run(TOR, DAY_1 + staleHours * HOUR + 1);
    expect(shown()).toMatchObject({ state: "loaded", stale: true });
    expect(hasAddress(current(), "old")).toBe(true);
    const expired = await run(TOR, DAY_1 + dropHours * HOUR + 1);
    expect(shown()).toMatchObject({ state: "expired", entries: 0 });
    expect(shown().error).toMatch(/ more than \d+ days ago: its claims are ignored/);
    expect(expired).toMatchObject({ held: [], expired: [TOR.id], failed: [], unreached: [], missing: [] });
    expect(expired.release.missing).toContain("is_tor_exit");
    // No copy is left to compare with, so the next copy only needs a plausible size.
    const after = DAY_1 + dropHours * HOUR + HOUR;
    script.answer = (_, response) => void send(response, `${addresses(2, 900).join("\n")}\n`, dated(after));
    await run(TOR, after);
    expect(shown()).toMatchObject({ state: "loaded", entries: 900 });
  });

  test("a pinned release stays in use, whatever is built, until the pin is gone", async () => {
    script.answer = good(TOR_LIST, 1);
    const { name } = await run(TOR, DAY_1);
    writeFileSync(join(dataDir, DATA_FOLDER.pinned), `${name}\n`);
    const built: string[] = [];
    for (const n of [2, 3, 4, 5, 6, 7, 8]) {
      script.answer = good(TOR_LIST, n);
      const next = await run(TOR, DAY_1 + n * 24 * HOUR);
      expect(next).toMatchObject({ published: true, pinned: name });
      expect(readFileSync(join(dataDir, DATA_FOLDER.current), "utf8").trim()).toBe(name);
      built.push(next.name);
    }
    expect(hasAddress(current(), "old")).toBe(true); // its segments are still there
    expect(await run(TOR, DAY_1 + 8 * 24 * HOUR + 1)).toMatchObject({ published: false, pinned: name });
    rmSync(join(dataDir, DATA_FOLDER.pinned));
    const moved = await run(TOR, DAY_1 + 8 * 24 * HOUR + 2);
    expect(moved).toMatchObject({ published: true, name: built.at(-1)! });
    expect(moved.pinned).toBeUndefined();
    expect(readFileSync(join(dataDir, DATA_FOLDER.current), "utf8").trim()).toBe(built.at(-1)!);
  });
});

test("a network of a VPN operator's system that is wider than any such is not flagged", async () => {
  const mirror = temporaryFolder();
  const rows = ["5.0.0.0,5.3.255.255", "45.66.100.0,45.66.100.255"].map((range) => `${range},9009,Example\n`);
  writeFileSync(join(mirror, "asn.csv"), rows.join(""));
  writeFileSync(join(mirror, "vpn-systems.csv"), "asn,operator,source\n9009,Example,https://vpn.example/\n");
  const [systems, exits] = ["vpn-systems", "tor-exit-networks"].map(
    (id) => FEEDS.find((feed) => feed.id === id)!,
  );
  await run(
    [row("asn", { entries: { least: 2, most: 2 } }), { ...systems!, entries: { least: 1, most: 1 } }, exits!],
    DAY_1,
    { mirror },
  );
  expect(isFlagged(current(), "45.66.100.7")).toBe(true);
  expect(isFlagged(current(), "5.0.0.7")).toBe(false);
  const text = "vpn-systems: left out networks wider than its limit: 5.0.0.0/14";
  expect(events).toContainEqual({ type: "note", text });
});

test("a copy with a time that no date can hold is held, and the other feeds go on", async () => {
  script.answer = good(DROP_LIST, 1);
  await run(DROP, DAY_1);
  const microseconds = DROP_LIST.day(2).replace(/"timestamp":(\d+)/, '"timestamp":$1000000');
  script.answer = (_, response) => send(response, microseconds);
  expect((await run([DROP, RESOLVERS], DAY_2)).held).toEqual([DROP.id]);
  expect(shown().error).toMatch(/^publisher: line 201 does not have the expected format/);
  expect(hasAddress(current(), "old")).toBe(true);
});

test.each(["-000001-01-01T00:00:00Z", "+012026-01-01T00:00:00Z"])(
  "a date of %s, which a release cannot hold, is none",
  async (date) => {
    script.answer = (_, response) => send(response, `# Last updated: ${date}\n${addressDay(1)}`);
    await run(TOR, DAY_1);
    expect(hasAddress(current(), "old")).toBe(true);
    expect(shown().published_at).toBeUndefined();
    script.answer = (_, response) => send(response, addressDay(1), { "last-modified": date });
    await run(TOR, DAY_2);
    expect(shown()).toMatchObject({ state: "loaded", checked_at: new Date(DAY_2).toISOString() });
  },
);

test("a copy that its licence wants destroyed is deleted with its feed turned off, too", async () => {
  const feed = { ...TOR, destroyOld: true, optIn: { why: "key", terms: "" } } as const;
  const choose = (enabled: readonly string[]) =>
    writeFileSync(join(dataDir, DATA_FOLDER.feedChoice), JSON.stringify({ enabled }));
  const kept = () =>
    readdirSync(join(dataDir, DATA_FOLDER.feeds, feed.id)).filter((name) => name !== "state.json");
  script.answer = (_, response) => send(response, TOR_LIST.day(1));
  choose([feed.id]);
  await run([feed], DAY_1);
  choose([]);
  const expiry = DAY_1 + feed.age.dropHours * HOUR;
  await run([feed], expiry);
  expect(kept()).toHaveLength(1);
  await run([feed], expiry + 1);
  expect(kept()).toEqual([]);
});

test("a feed that drips delays no other: what is there is published, and the rest when it has arrived", async () => {
  const slow: Feed = { ...TOR, urls: () => [`${script.base}/slow`] };
  /** The release that was published at the time of each request for the slow feed. */
  const found: (Release | undefined)[] = [];
  const published = () => (existsSync(join(dataDir, DATA_FOLDER.current)) ? current() : undefined);
  script.answer = (request, response) => {
    if (request.url !== "/slow") return good(MAIL_LIST, 1)(request, response);
    found.push(published());
    if (found.length > 1) return good(TOR_LIST, 1)(request, response);
    response.writeHead(200);
    const timer = setInterval(() => response.write("4"), 5);
    response.on("close", () => clearInterval(timer));
  };
  const effects = {
    now: () => new Date(DAY_1),
    chance: () => 0.5,
    emit: (event: BuildEvent) => void events.push(event),
  };
  events.length = 0;
  const made = await build(
    { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {} },
    { ...effects, feeds: [slow, MAIL], times: TIMES, patienceMs: 3_000 },
  );
  expect(found.length).toBe(2);
  expect(found[0]).toBeUndefined();
  expect(isDisposable(found[1]!, "disposable-50.com")).toBe(true);
  expect(found[1]!.missing).toContain("is_tor_exit");
  expect(found[1]!.feeds[0]).toMatchObject({
    state: "missing",
    error: expect.stringMatching(/has not arrived yet/),
  });
  expect(found[1]!.feeds[0]!.failures).toBeUndefined();
  const text = "still waiting for tor-bulk-exits";
  expect(events).toContainEqual({ type: "note", text, published: expect.stringContaining(found[1]!.id) });
  expect(made).toMatchObject({ published: true, held: [], failed: [], unreached: [] });
  expect(hasAddress(current(), "old")).toBe(true);
  expect(shown()).toMatchObject({ state: "loaded", source: "fetched" });
});

test("a feed that is late is asked for again though it is not due, and what was held before stays reported", async () => {
  const [slow, bad] = ["/slow", "/bad"].map((path) => ({ urls: () => [script.base + path] }));
  const feeds: readonly Feed[] = [
    { ...TOR, ...slow },
    { ...MAIL, ...bad },
  ];
  const pages: Record<string, string> = { "/slow": TOR_LIST.day(1), "/bad": MAIL_LIST.day(1) };
  script.answer = (request, response) => send(response, pages[request.url!]!, dated(DAY_1));
  await run(feeds, DAY_1);
  let requests = 0;
  script.answer = ({ url }, response) => {
    if (url === "/bad") return send(response, "<html>");
    if (++requests > 1) return send(response, TOR_LIST.day(2), dated(DAY_1 + 1));
    response.writeHead(200);
    const timer = setInterval(() => response.write("4"), 5);
    response.on("close", () => clearInterval(timer));
  };
  const made = await build(
    { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {} },
    {
      now: () => new Date(DAY_1 + 1),
      chance: () => 0.5,
      emit: () => {},
      feeds,
      times: TIMES,
      patienceMs: 3_000,
    },
  );
  expect(requests).toBe(2);
  expect(made).toMatchObject({ published: true, held: [MAIL.id], unreached: [] });
  expect(isFlagged(current(), addresses(2).at(-1)!)).toBe(true);
});

test("misbehaving-publishers.md has this table, and no other", () => {
  const text = readFileSync(join(import.meta.dir, "../../misbehaving-publishers.md"), "utf8");
  const lines = text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| case "));
  const rows: readonly Row[] = [NOT_MODIFIED, ...BAD, CUT, ...TAKEN, DISK_FULL, KILLED];
  expect(lines).toEqual(rows.map(({ name, outcome }) => `| ${name} | ${outcome} |`));
});
