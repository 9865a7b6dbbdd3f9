import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openServable } from "@inkling/data";
import type { Release } from "@inkling/engine";
import { smallRelease, temporaryFolder } from "../../../../test/harness/release.ts";
import { loadSettings } from "../config/settings.ts";
import { makeStyle } from "../terminal/terminal.ts";
import { Arrivals, banner } from "./banner.ts";
import type { BuildResult } from "./build.ts";
import { type KeysOf, saveSecrets } from "./keys.ts";

const dataDir = temporaryFolder();
smallRelease(dataDir, 1);
const { settings } = loadSettings({ flags: {}, env: {}, cwd: dataDir });
const KEYS: KeysOf = {
  created: { live: "ink_live_a", sandbox: "ink_test_b" },
  live: 1,
  sandbox: 1,
  adminToken: "ink_admin_c",
};
const shown = (keys: KeysOf, keysFile: string | undefined) =>
  banner({
    ...{ settings, keys, keysFile, current: openServable(dataDir) },
    ...{ version: "1.2.3", updates: false, style: makeStyle(false) },
  });

test("a terminal shows new keys and the admin token", () => {
  const text = shown(KEYS, undefined);
  for (const secret of ["ink_live_a", "ink_test_b", "ink_admin_c"]) expect(text).toContain(secret);
});

test("otherwise they are in a file that only its owner can read, and its path is shown", () => {
  const path = saveSecrets(KEYS, dataDir)!;
  expect(path).toBe(join(dataDir, "first-keys.txt"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).toEndWith(
    "\n  live     ink_live_a\n  sandbox  ink_test_b\n  admin    ink_admin_c\n",
  );
  const text = shown(KEYS, path);
  expect(text).toContain(path);
  expect(text).not.toMatch(/ink_(live|test|admin)_\w/);
});

test("without new ones there is no file", () => {
  const keys = { created: undefined, live: 2, sandbox: 1, adminToken: undefined };
  expect(saveSecrets(keys, temporaryFolder())).toBeUndefined();
  expect(shown(keys, undefined)).toContain("Active keys: 2 live, 1 sandbox");
});

const style = makeStyle(false);
const release = (missing: string[], partial: string[] = []) =>
  ({ missing, partial: partial.map((answer) => ({ answer, why: "x" })) }) as unknown as Release;
const NOW = Date.parse("2026-11-30T12:00:00Z");
const built = (to: Release, unreached: string[] = [], sources = ["fetched"], nextDue?: string) =>
  ({
    done: { name: "r2", release: to, unreached, nextDue },
    feeds: sources.map((source) => ({ source })),
  }) as unknown as BuildResult;
const GAP = "  missing  is_proxy is unknown: no feed that provides it is loaded";

type Row = [what: string, from: Release, builds: BuildResult[], said: (string | undefined)[]];
const rows: Row[] = [
  [
    "all arrive, once",
    release(["is_proxy", "is_abuser"], ["disposable"]),
    [built(release([])), built(release([]))],
    ["Proxy and abuse lists loaded (14 s).", undefined],
  ],
  [
    "some arrive, then the rest",
    release(["is_proxy", "is_abuser"]),
    [built(release(["is_proxy"]), ["a"]), built(release([]))],
    [`More lists loaded (14 s).\n${GAP}`, "Proxy and abuse lists loaded (14 s)."],
  ],
  [
    "lists of email domains",
    release([], ["disposable"]),
    [built(release([]))],
    ["More lists loaded (14 s)."],
  ],
  [
    "offline, said once",
    release(["is_proxy"]),
    [built(release(["is_proxy"]), ["a", "b"], ["seed"]), built(release(["is_proxy"]), ["a"], ["seed"])],
    [expect.stringMatching(/^Offline: .* INKLING_MIRROR .* --allow-missing\.$/), undefined],
  ],
  [
    "some publishers unreachable, reported once",
    release(["is_proxy"]),
    [built(release(["is_proxy"]), ["a", "b"]), built(release(["is_proxy"]), ["a"])],
    [
      `Not reached: 2 feeds. Run \`inkling data status\` to see why. Inkling retries them.\n${GAP}`,
      undefined,
    ],
  ],
  [
    "no feed is due, said once; then offline",
    release(["is_proxy"]),
    [
      built(release(["is_proxy"]), [], ["seed"], "2026-11-30T12:05:00Z"),
      built(release(["is_proxy"]), [], ["seed"], "2026-11-30T12:05:00Z"),
      built(release(["is_proxy"]), ["a"], ["seed"]),
    ],
    [
      "The missing data has not arrived; `inkling data status` shows why. The next feed is due in 5 minutes.",
      undefined,
      expect.stringMatching(/^Offline: /),
    ],
  ],
  [
    "a feed is due now, so the next build follows",
    release(["is_proxy"]),
    [built(release(["is_proxy"]), [], ["seed"], "2026-11-30T12:00:00Z")],
    [undefined],
  ],
  ["nothing lacked", release([]), [built(release([])), built(release([]), ["a"])], [undefined, undefined]],
];
test.each(rows)("%s", (_, from, builds, said) => {
  const arrivals = new Arrivals(from, { allowMissing: false }, NOW - 14_200);
  expect(builds.map((result) => arrivals.after(result, style, NOW))).toEqual(said);
});
