// Which release answers, with manifests alone: verifying is handed in, so that each test decides its verdict.
// test/release-swap.test.ts does the same with real segments, in a worker, under load.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ANSWERS, type Release, releaseName } from "@inkling/engine";
import { openRelease, ReleaseError, releaseId, releaseNames } from "@inkling/release-store";
import { type ReleaseEvent, Releases } from "./follow.ts";

let dataDir: string;
let running: Releases | undefined;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "inkling-releases-"));
  mkdirSync(join(dataDir, "releases"));
  mkdirSync(join(dataDir, "segments"));
});
afterEach(async () => {
  await running?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Release `n`: a manifest whose id is made of its content, as the compiler makes it. */
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

function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
/** @returns the name that it is published under: its own, as far as it has one */
function publish(n: number, text = manifest(n)): string {
  const id = /"id":"([0-9a-f]{12})"/.exec(text)?.[1] ?? idOf(n);
  const name = releaseName({ ...release(n), id });
  replace(join(dataDir, "releases", `${name}.json`), text);
  replace(join(dataDir, "current"), `${name}\n`);
  return name;
}

function setUp(unsound: readonly number[] = []) {
  const events: ReleaseEvent[] = [];
  const verified: string[] = [];
  const bad = new Set(unsound.map(nameOf));
  const releases = new Releases({
    dataDir,
    now: () => 1,
    verify: async (_, name) => {
      verified.push(name);
      await Promise.resolve();
      if (bad.has(name)) throw new ReleaseError(`release ${name}: body checksum`);
    },
    onEvent: (event) => events.push(event),
    pollMs: 3_600_000,
  });
  running = releases;
  /** Ends when nothing is under way. */
  const settled = async () => {
    await releases.check();
    await releases.check();
  };
  return { releases, events, verified, bad, settled };
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
    "is that of the release",
  ],
];

describe("at start", () => {
  test("nothing published: nothing serves, and the first release is picked up", async () => {
    const { releases, settled } = setUp();
    releases.start();
    expect(releases.current).toBeUndefined();
    expect(releases.refused).toBeUndefined();
    publish(1);
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.isVerified).toBe(true);
  });

  test("serves at once, verifies behind", async () => {
    publish(1);
    const { releases, settled, events } = setUp();
    releases.start();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.isVerified).toBe(false);
    await settled();
    expect(releases.isVerified).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(["serving", "verified"]);
  });

  test.each(CORRUPT)("%s: the newest older one that opens serves", async (_, text, reason) => {
    publish(1);
    const name = publish(2, text);
    const { releases, settled } = setUp();
    releases.start();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.refused).toMatchObject({ name, at: 1 });
    expect(releases.refused!.reason).toContain(reason);
    expect(releases.refused!.reason).not.toContain(dataDir);
    await settled();
    expect(serving(releases)).toBe(idOf(1));
  });

  test("unsound on reading: the next older takes its place, and so on", async () => {
    for (const n of [1, 2, 3]) publish(n);
    const { releases, settled, verified } = setUp([2, 3]);
    releases.start();
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    expect(verified).toEqual([nameOf(3), nameOf(2), nameOf(1)]);
  });

  test("all unsound: nothing serves", async () => {
    publish(1);
    const { releases, settled } = setUp([1]);
    releases.start();
    await settled();
    expect(releases.current).toBeUndefined();
    expect(releases.refused).toMatchObject({ name: nameOf(1) });
  });

  test("a rolled-back pointer serves the older release, not the newest", () => {
    publish(1);
    publish(2);
    publish(1);
    const { releases } = setUp();
    releases.start();
    expect(serving(releases)).toBe(idOf(1));
  });

  test.each(["../../etc/passwd", "", "x".repeat(5000), "20260601T000000000Z-ZZZ"])(
    "a pointer to %p is no path",
    async (text) => {
      publish(1);
      replace(join(dataDir, "current"), text);
      const { releases } = setUp();
      releases.start();
      expect(serving(releases)).toBe(idOf(1));
    },
  );
});

describe("while serving", () => {
  test("a new release is verified before it serves", async () => {
    publish(1);
    const { releases, settled, verified, events } = setUp();
    releases.start();
    await settled();
    publish(2);
    await settled();
    expect(serving(releases)).toBe(idOf(2));
    expect(verified).toEqual([nameOf(1), nameOf(2)]);
    expect(events.at(-1)).toEqual({ type: "serving", name: nameOf(2), before: nameOf(1) });
  });

  test.each(CORRUPT)("%s: refused by name, the one before goes on", async (_, text, reason) => {
    publish(1);
    const { releases, settled, events } = setUp();
    releases.start();
    await settled();
    const before = releases.current;
    const name = publish(2, text);
    await settled();
    expect(releases.current).toBe(before);
    expect(releases.refused).toMatchObject({ name });
    expect(releases.refused!.reason).toContain(reason);
    expect(events.filter(({ type }) => type === "refused").length).toBe(1);
  });

  test("a refused release is not tried again until something changes, and then it is", async () => {
    publish(1);
    const { releases, settled, verified, bad } = setUp([2]);
    releases.start();
    await settled();
    publish(2);
    await settled();
    await settled();
    expect(verified).toEqual([nameOf(1), nameOf(2)]);
    expect(serving(releases)).toBe(idOf(1));
    bad.clear();
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    publish(2); // the same, written anew
    await settled();
    expect(serving(releases)).toBe(idOf(2));
    expect(releases.refused).toBeUndefined();
  });

  test("a segment that is repaired is tried again, though pointer and manifest stay", async () => {
    publish(1);
    const sha256 = "b".repeat(64);
    const { releases, settled, events } = setUp();
    releases.start();
    await settled();
    publish(2, JSON.stringify(release(2, { segments: { geo: segment("b") } })));
    await settled();
    replace(join(dataDir, "segments", `${sha256}.seg`), "x".repeat(99));
    await settled();
    const refusals = events.flatMap((event) => (event.type === "refused" ? [event.reason] : []));
    expect(refusals.length).toBe(2);
    expect(refusals[1]).toContain("has 99 bytes, the manifest says 100");
  });

  test("a pointer that goes away changes nothing", async () => {
    publish(1);
    const { releases, settled } = setUp();
    releases.start();
    await settled();
    unlinkSync(join(dataDir, "current"));
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.refused).toBeUndefined();
  });

  test("a rollback is a swap like any other", async () => {
    publish(1);
    publish(2);
    const { releases, settled } = setUp();
    releases.start();
    await settled();
    publish(1);
    await settled();
    expect(serving(releases)).toBe(idOf(1));
  });

  test("stop during a verification swaps nothing any more", async () => {
    publish(1);
    const { releases, settled } = setUp();
    releases.start();
    await settled();
    publish(2);
    const checking = releases.check();
    await releases.stop();
    await checking;
    expect(serving(releases)).toBe(idOf(1));
  });
});

describe("openRelease", () => {
  test("names the release and what is wrong, on one line", () => {
    publish(2, manifest(2, { id: 5, feeds: {} }));
    expect(() => openRelease(dataDir, nameOf(2))).toThrow(
      /^release 20260602T000000000Z-[0-9a-f]{12}: [^\n]+$/,
    );
  });
  test("names without their form are no paths", () => {
    expect(() => openRelease(dataDir, "../current")).toThrow("not the name of a release");
  });
  test("releases are listed newest first, other files passed over", () => {
    for (const n of [1, 3, 2]) publish(n);
    writeFileSync(join(dataDir, "releases", "notes.json"), "");
    expect(releaseNames(dataDir)).toEqual([nameOf(3), nameOf(2), nameOf(1)]);
  });
});
