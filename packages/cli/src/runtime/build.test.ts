// A build order follows from the settings.

import { describe, expect, test } from "bun:test";
import type { FeedReport } from "@inkling/engine";
import { loadSettings } from "../config/settings.ts";
import { buildOrder, mayFindNewer, unreachedHint } from "./build.ts";

const KEYS = {
  INKLING_MAXMIND_ACCOUNT_ID: "123456",
  INKLING_MAXMIND_LICENSE_KEY: "abcdef_secret",
  INKLING_IP2LOCATION_TOKEN: "token-secret",
};
const CREDENTIALS = {
  maxmindAccountId: "123456",
  maxmindLicenseKey: "abcdef_secret",
  ip2locationToken: "token-secret",
};
const settingsOf = (env: Record<string, string>) => loadSettings({ flags: {}, env, cwd: "/srv" }).settings;

describe("a build order", () => {
  const rows: [
    name: string,
    env: Record<string, string>,
    options: Parameters<typeof buildOrder>[1],
    want: object,
  ][] = [
    [
      "fetches from publishers, with the keys that are set",
      KEYS,
      { fetch: true, onlyDue: true },
      { fetch: true, onlyDue: true, accept: [], credentials: CREDENTIALS },
    ],
    [
      "fetches nothing, without any key",
      KEYS,
      { fetch: false },
      { fetch: false, onlyDue: false, credentials: {} },
    ],
    [
      "fetches nothing offline, whatever the options",
      { ...KEYS, INKLING_OFFLINE: "1" },
      { fetch: true },
      { fetch: false, credentials: {} },
    ],
    [
      "reads the mirror alone",
      { ...KEYS, INKLING_MIRROR: "feeds" },
      { fetch: true },
      { fetch: false, mirror: "/srv/feeds", credentials: {} },
    ],
    [
      "accepts a large change",
      {},
      { fetch: true, accept: ["ipsum-3"] },
      { accept: ["ipsum-3"], credentials: {} },
    ],
  ];
  test.each(rows)("%s", (_name, env, options, want) => {
    expect(buildOrder(settingsOf(env), options)).toMatchObject({ dataDir: "/srv/data", ...want });
    if ("credentials" in want)
      expect(buildOrder(settingsOf(env), options).credentials).toEqual(want.credentials as never);
  });
});

test.each<[name: string, env: Record<string, string>, want: boolean]>([
  ["publishers may be fetched from", {}, true],
  ["a mirror is", { INKLING_MIRROR: "feeds" }, true],
  ["a mirror is, offline too", { INKLING_MIRROR: "feeds", INKLING_OFFLINE: "1" }, true],
  ["nobody is, offline", { INKLING_OFFLINE: "1" }, false],
])("newer data can be found where %s", (_name, env, want) => {
  expect(mayFindNewer(settingsOf(env))).toBe(want);
});

describe("what could not be reached comes with what to do", () => {
  const feed = (source: string) => ({ source }) as FeedReport;
  const rows: [
    name: string,
    env: Record<string, string>,
    unreached: string[],
    sources: string[],
    hint: RegExp,
  ][] = [
    [
      "nothing at all",
      {},
      ["ipsum-3"],
      ["last-good", "own"],
      /`--offline` .*`--mirror FOLDER`.*HTTPS_PROXY=/,
    ],
    ["one of several", {}, ["ipsum-3"], ["last-good", "fetched"], /^others were reached: /],
    [
      "a mirror, whose password is masked",
      { INKLING_MIRROR: "http://me:secret@mirror.example" },
      ["ipsum-3"],
      ["seed"],
      /^no response from the mirror http:\/\/(?!.*secret).*mirror\.example/,
    ],
  ];
  test.each(rows)("%s", (_, env, unreached, sources, hint) => {
    expect(unreachedHint(settingsOf(env), { done: { unreached }, feeds: sources.map(feed) })).toMatch(hint);
  });
  test("nothing to do where all were reached", () => {
    expect(unreachedHint(settingsOf({}), { done: { unreached: [] }, feeds: [feed("seed")] })).toBeUndefined();
  });
});
