// Tests what `inkling up` says about the data that its first release lacked.

import { expect, test } from "bun:test";
import type { Release } from "@inkling/engine";
import { makeStyle } from "../terminal/terminal.ts";
import { Arrivals } from "./arrivals.ts";
import type { BuildResult } from "./build.ts";

const style = makeStyle(false);
const release = (missing: string[], partial: string[] = []) =>
  ({ missing, partial: partial.map((answer) => ({ answer, why: "x" })) }) as unknown as Release;
const built = (to: Release, unreached: string[] = [], sources = ["fetched"]) =>
  ({
    done: { name: "r2", release: to, unreached },
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
    "some publishers unreachable, said once",
    release(["is_proxy"]),
    [built(release(["is_proxy"]), ["a", "b"]), built(release(["is_proxy"]), ["a"])],
    [`Not reached: 2 feeds. \`inkling data status\` shows why. Inkling retries them.\n${GAP}`, undefined],
  ],
  ["nothing lacked", release([]), [built(release([])), built(release([]), ["a"])], [undefined, undefined]],
];
test.each(rows)("%s", (_, from, builds, said) => {
  const arrivals = new Arrivals(from, { allowMissing: false });
  expect(builds.map((result) => arrivals.after(result, 14.2, style))).toEqual(said);
});
