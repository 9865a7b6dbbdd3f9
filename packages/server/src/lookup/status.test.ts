import { describe, expect, test } from "bun:test";
import type { ChannelReport } from "@inkling/data";
import { ANSWERS, type Answer, type FeedReport, type LoadedRelease } from "@inkling/engine";
import { isStarting, publicStatus, readiness, type ServerState, statusDocument, warnings } from "./status.ts";

const SECRET = "http://intranet.corp:8000/feed answered <html>admin";
const FEED: FeedReport = {
  id: "tor-exits",
  sets: "is_tor_exit",
  source: "last-good",
  state: "loaded",
  entries: 3,
  sha256: "a".repeat(64),
  licence: "CC0",
  error: SECRET,
  failures: 2,
  held: { sha256: "b".repeat(64), why: SECRET },
  skipped: { entries: 1, first: SECRET },
};
const SOURCE: ServerState = {
  version: "1.0.0",
  settings: { allowMissing: false },
  releases: {
    current: {
      name: "20260601T000000Z-0123456789ab",
      manifest: {
        id: "0123456789ab",
        created_at: "2026-06-01T00:00:00Z",
        segments: {},
        feeds: [],
        missing: [ANSWERS[0]],
        partial: [{ answer: "is_proxy", why: "without proxies" }],
      },
    } as unknown as LoadedRelease,
    refused: { name: "20260602T000000Z-0123456789ac", reason: `/srv/data: ${SECRET}`, at: 0 },
    channel: undefined,
    since: 0,
    feeds: [
      FEED,
      { ...FEED, error: undefined, held: undefined, skipped: undefined } as unknown as FeedReport,
    ],
  },
  keyring: { state: { loaded: true, keys: 1, checkedAt: 0, failures: 1, lastError: SECRET } },
};

/** Lists the names of the document's fields, with types instead of values. */
const fieldsOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(fieldsOf)
    : value !== null && typeof value === "object"
      ? Object.entries(value).map(([name, inner]) => [name, fieldsOf(inner)])
      : typeof value;

describe("what any key may read", () => {
  const shown = publicStatus(SOURCE, 0, true);

  test("holds no text of errors, which could quote hosts, paths and content", () => {
    expect(JSON.stringify(statusDocument(SOURCE, 0)).split("intranet")).toHaveLength(5);
    expect(JSON.stringify(shown)).not.toMatch(/intranet|html|srv/);
  });

  test("has the fields of the document for operators, in the same order", () => {
    expect(fieldsOf(shown)).toEqual(fieldsOf(statusDocument(SOURCE, 0)));
  });

  test("has feeds and segments only on request", () => {
    const short = publicStatus(SOURCE, 0, false);
    const names = (document: object) => Object.keys(JSON.parse(JSON.stringify(document)));
    expect(names(shown).filter((name) => !names(short).includes(name))).toEqual(["feeds"]);
    expect(names(shown.release!)).toEqual([...names(short.release!), "segments"]);
  });

  test("has what an answer was built from, and what is missing", () => {
    expect(shown).toMatchObject({
      refused_release: { name: "20260602T000000Z-0123456789ac", reason: expect.any(String) },
      missing: ["geolocation"],
      partial: [{ answer: "is_proxy", why: "without proxies" }],
      keys: { loaded: true, database: "unreachable" },
    });
    expect(shown.feeds![0]).toMatchObject({
      failures: 2,
      error: expect.any(String),
      skipped: { entries: 1 },
    });
    expect(shown.feeds![1]).toMatchObject({ error: null, held: null, skipped: null });
  });
});

describe("why a release does not answer", () => {
  const without = { ...SOURCE, releases: { ...SOURCE.releases, current: undefined } };
  const { refused } = SOURCE.releases;
  const channel = { fault: null } as unknown as ChannelReport;

  test.each([
    ["there never was one", { refused: undefined }, "no data release is loaded"],
    [
      "it is damaged",
      {},
      `the release ${refused!.name} is damaged or from another version: run \`inkling doctor\` to see the fault; \`inkling data update\` builds a new one`,
    ],
    [
      "it came from a channel and is damaged",
      { channel },
      `the release ${refused!.name} is damaged or from another version: run \`inkling doctor\` to see the fault; the server fetches it from the channel again`,
    ],
  ])("%s", (_, over, reason) => {
    expect(readiness({ ...without, releases: { ...without.releases, ...over } }, false)).toEqual([reason]);
  });

  test("another one answers instead", () => {
    const { current } = SOURCE.releases;
    expect(warnings(SOURCE)).toEqual([
      `release ${refused!.name} is refused, and ${current!.name} is used instead`,
    ]);
  });

  describe("a release without data for flags of reputation", () => {
    const failed = (flag: string) => ({ ...FEED, sets: flag, state: "missing" as const });
    const source = (missing: readonly Answer[], feeds: readonly FeedReport[] = []): ServerState => {
      const current = { ...SOURCE.releases.current!, manifest: { ...SOURCE.releases.current!.manifest } };
      Object.assign(current.manifest, { missing, feeds: [] }); // the release was built before the lists were requested
      return { ...SOURCE, releases: { ...SOURCE.releases, refused: undefined, current, feeds } };
    };

    test("whose lists were never requested is starting, and the warning says which and what to do", () => {
      const starting = source(["is_abuser", "is_proxy"]);
      expect(isStarting(starting)).toBe(true);
      expect(warnings(starting)).toEqual([
        expect.stringMatching(
          /reputation lookups return 503, .* for is_abuser and is_proxy .*ALLOW_MISSING=1/,
        ),
      ]);
      const allowed = { ...starting, settings: { allowMissing: true } };
      expect([isStarting(allowed), warnings(allowed)]).toEqual([false, []]);
    });

    test("whose lists failed is ready, with the same warning", () => {
      const failing = source(["is_proxy"], [failed("is_proxy")]);
      expect([isStarting(failing), warnings(failing)]).toEqual([
        false,
        [expect.stringMatching(/reputation lookups return 503, .* for is_proxy is loaded/)],
      ]);
    });
  });

  test("a server that does not follow its channel explains the fault, without the text of the error", () => {
    const fault = { kind: "absent", reason: SECRET, since: "2026-06-01T00:00:00.000Z" } as const;
    const channel = { channel: "stable", fault } as unknown as ChannelReport;
    const releases = { ...SOURCE.releases, refused: undefined, channel };
    expect(warnings({ ...SOURCE, releases })).toEqual([
      "the server does not follow the channel stable: absent (the channel does not exist)",
    ]);
  });
});
