// Tests which release answers, with manifests only. test/scenarios/server/release-swap.test.ts does the same with real
// segments under load, and test/scenarios/server/damaged-release.test.ts with damaged segments.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRelease, ReleaseError, releaseId, releaseNames } from "@inkling/data";
import { ANSWERS, type Release, releaseName } from "@inkling/engine";
import { eventLog, type LoggedEvent } from "../../../../test/harness/logged-events.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { Releases } from "./releases.ts";

let dataDir: string;
let running: Releases[];
beforeEach(() => {
  running = [];
  dataDir = temporaryFolder();
  mkdirSync(join(dataDir, "releases"));
  mkdirSync(join(dataDir, "segments"));
});
afterEach(async () => {
  for (const releases of running) await releases.stop();
});

/** Creates release `n`: a manifest with an id that is derived from its content, as in the compiler. */
function release(n: number, over: object = {}): Release {
  const manifest = {
    format: 1 as const,
    created_at: `2026-06-0${n}T00:00:00.000Z`,
    code: String(n).repeat(64),
    segments: {},
    feeds: [],
    missing: [...ANSWERS],
    partial: [],
    ...over,
  };
  return { id: releaseId(manifest), ...manifest };
}
const segment = (digit: string) => ({ sha256: digit.repeat(64), bytes: 100, inputs: "1".repeat(64) });
const idOf = (n: number) => release(n).id;
const nameOf = (n: number) => releaseName(release(n));
const manifest = (n: number, over: object = {}) => JSON.stringify({ ...release(n), ...over });

function replace(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}
/** @returns the name that the release is published under, with the id from its manifest if it has one */
function publish(n: number, text = manifest(n)): string {
  const id = /"id":"([0-9a-f]{12})"/.exec(text)?.[1] ?? idOf(n);
  const name = releaseName({ ...release(n), id });
  replace(join(dataDir, "releases", `${name}.json`), text);
  replace(join(dataDir, "current"), `${name}\n`);
  return name;
}

/** @param unsound the releases that a full verification refuses */
function setUp(unsound: readonly number[] = []) {
  const events: LoggedEvent[] = [];
  const verified: string[] = [];
  const clock = { now: 1_000_000 };
  const releases = new Releases({
    dataDir,
    now: () => clock.now,
    verify: async (_, name) => {
      verified.push(name);
      if (unsound.some((n) => nameOf(n) === name)) throw new ReleaseError(`release ${name} is corrupt`);
    },
    allowMissing: true,
    log: eventLog(events),
    onChange: () => {},
    pollMs: 3_600_000,
  });
  running.push(releases);
  return { releases, events, verified, clock };
}
const serving = (releases: Releases) => releases.current?.manifest.id;

const CORRUPT: readonly [name: string, text: string, reason: string][] = [
  ["empty", "", "JSON"],
  ["cut", manifest(2).slice(0, 60), "JSON"],
  ["HTML", "<html></html>", "JSON"],
  ["another format", manifest(2, { format: 2 }), "format"],
  ["no id", manifest(2, { id: undefined }), "id"],
  [
    "a segment that is not there",
    JSON.stringify(release(2, { segments: { geo: segment("a") } })),
    "its segment segments/",
  ],
  ["its missing answers forgotten", manifest(2, { missing: [] }), "the manifest is damaged"],
  [
    "its segments forgotten",
    manifest(2, { segments: {}, missing: ["disposable"] }),
    "the manifest is damaged",
  ],
  [
    "an answer without a segment",
    JSON.stringify(release(2, { missing: [] })),
    "has no segment for geolocation",
  ],
  [
    "another time than its name",
    manifest(2, { created_at: "2026-06-09T00:00:00.000Z" }),
    "belongs to the release",
  ],
];

describe("at start", () => {
  test("nothing published: nothing serves, and the first release is picked up", async () => {
    const { releases } = setUp();
    await releases.start();
    expect([releases.current, releases.refused]).toEqual([undefined, undefined]);
    publish(1);
    await releases.check();
    expect(serving(releases)).toBe(idOf(1));
  });

  test.each(CORRUPT)("%s: the newest older one that opens serves", async (_, text, reason) => {
    publish(1);
    const name = publish(2, text);
    const { releases, events } = setUp();
    await releases.start();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.refused).toMatchObject({ name });
    expect(releases.refused!.reason).toContain(reason);
    expect(releases.refused!.reason).not.toContain(dataDir);
    await releases.check();
    expect(serving(releases)).toBe(idOf(1));
    expect(events.map(({ type }) => type)).toEqual(["release-refused", "release-serving"]); // each reason is reported once
  });

  test("none opens: nothing serves", async () => {
    publish(1, "");
    const { releases } = setUp();
    await releases.start();
    expect(releases.current).toBeUndefined();
    expect(releases.refused).toMatchObject({ name: nameOf(1) });
  });

  test("a rolled-back pointer serves the older release, not the newest", async () => {
    for (const n of [1, 2, 1]) publish(n);
    const { releases } = setUp();
    await releases.start();
    expect(serving(releases)).toBe(idOf(1));
  });

  test.each(["../../etc/passwd", "", "x".repeat(5000), "20260601T000000000Z-ZZZ"])(
    "a pointer to %p is no path",
    async (text) => {
      publish(1);
      replace(join(dataDir, "current"), text);
      const { releases } = setUp();
      await releases.start();
      expect(serving(releases)).toBe(idOf(1));
    },
  );
});

describe("the fourth start within a minute with one release", () => {
  const startTimes = async (times: number, unsound: readonly number[] = [], pauseMs = 0) => {
    const clock = { now: 1_000_000 };
    let last = setUp(unsound);
    for (let start = 0; start < times; start++) {
      last = setUp(unsound); // the process before has crashed, so it was not stopped
      last.clock.now = clock.now;
      await last.releases.start();
      clock.now += pauseMs;
    }
    return last;
  };

  test("verifies the release in full, and the first three do not", async () => {
    for (const n of [1, 2]) publish(n);
    expect((await startTimes(3)).verified).toEqual([]);
    const { releases, verified, events } = await startTimes(1);
    expect([verified, serving(releases)]).toEqual([[nameOf(2)], idOf(2)]);
    expect(events[0]).toEqual({ type: "release-verified", name: nameOf(2) });
  });

  test("uses the release before it if it is unsound, and it again when another one is published", async () => {
    for (const n of [1, 2]) publish(n);
    const { releases } = await startTimes(4, [2]);
    expect([serving(releases), releases.refused?.name]).toEqual([idOf(1), nameOf(2)]);
    await releases.check();
    expect(serving(releases)).toBe(idOf(1));
    publish(3);
    await releases.check();
    expect([serving(releases), releases.refused]).toEqual([idOf(3), undefined]);
  });

  test("does not count starts that ended with a stop", async () => {
    publish(1);
    for (let start = 0; start < 5; start++) {
      const { releases, verified } = setUp();
      await releases.start();
      await releases.stop();
      expect(verified).toEqual([]);
    }
  });

  test("does not count starts of an hour, or with another release", async () => {
    publish(1);
    expect((await startTimes(6, [], 25_000)).verified).toEqual([]);
    publish(2);
    expect((await startTimes(3)).verified).toEqual([]);
  });
});

describe("while serving", () => {
  test("a release that does not open changes nothing, and is used when it is repaired", async () => {
    publish(1);
    const { releases, events } = setUp();
    await releases.start();
    const name = publish(2, "{");
    await releases.check();
    expect([serving(releases), releases.refused?.name]).toEqual([idOf(1), name]);
    publish(2);
    await releases.check();
    expect([serving(releases), releases.refused]).toEqual([idOf(2), undefined]);
    expect(events.map(({ type }) => type)).toEqual([
      "release-serving",
      "release-refused",
      "release-refusal-over",
      "release-serving",
    ]);
  });

  test("a release whose files no longer open is left when a thread fails to open it", async () => {
    for (const n of [1, 2]) publish(n);
    const { releases, events } = setUp();
    await releases.start();
    replace(join(dataDir, "releases", `${nameOf(2)}.json`), "{");
    await releases.check();
    expect([serving(releases), releases.refused?.name]).toEqual([idOf(1), nameOf(2)]);
    unlinkSync(join(dataDir, "releases", `${nameOf(1)}.json`));
    await releases.check();
    expect(releases.current).toBeUndefined();
    expect(events.at(-1)).toEqual({ type: "release-none", before: nameOf(1), wanted: nameOf(2) });
  });

  test("a pointer that disappears changes nothing", async () => {
    publish(1);
    const { releases } = setUp();
    await releases.start();
    unlinkSync(join(dataDir, "current"));
    await releases.check();
    expect(serving(releases)).toBe(idOf(1));
  });

  test("a rollback is a swap like any other", async () => {
    for (const n of [1, 2]) publish(n);
    const { releases, events } = setUp();
    await releases.start();
    publish(1);
    await releases.check();
    expect(serving(releases)).toBe(idOf(1));
    expect(events.map(({ type }) => type)).toEqual(["release-serving", "release-serving"]);
  });
});

describe("openRelease", () => {
  test("shows the release and what is wrong, on one line", () => {
    publish(2, manifest(2, { id: 5, feeds: {} }));
    expect(() => openRelease(dataDir, nameOf(2))).toThrow(
      /^release 20260602T000000000Z-[0-9a-f]{12}: [^\n]+$/,
    );
  });
  test("names in another format are not paths", () => {
    expect(() => openRelease(dataDir, "../current")).toThrow("not a release name");
  });
  test("releases are listed newest first, other files passed over", () => {
    for (const n of [1, 3, 2]) publish(n);
    writeFileSync(join(dataDir, "releases", "notes.json"), "");
    expect(releaseNames(dataDir)).toEqual([nameOf(3), nameOf(2), nameOf(1)]);
  });
});
