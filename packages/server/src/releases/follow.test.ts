// Tests which release answers, mostly with manifests only. Each test supplies its own verifier and so decides the
// verdict. test/scenarios/server/release-swap.test.ts does the same with real segments under load, and
// test/scenarios/server/damaged-release.test.ts with damaged segments.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  ANSWERS,
  HEADER_BYTES,
  headerChecksum,
  type Release,
  releaseName,
  SEGMENT_KINDS,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
  type SegmentKind,
} from "@inkling/engine";
import {
  fileStamp,
  findFiles,
  markVerified,
  openRelease,
  ReleaseError,
  releaseId,
  releaseNames,
  removeMark,
  type Verification,
} from "@inkling/release-store";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { ReleaseEvent } from "./events.ts";
import { Releases } from "./follow.ts";

let dataDir: string;
let running: Releases | undefined;
beforeEach(() => {
  dataDir = temporaryFolder();
  mkdirSync(join(dataDir, "releases"));
  mkdirSync(join(dataDir, "segments"));
});
afterEach(async () => {
  await running?.stop();
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

function setUp(unsound: readonly number[] = [], answersHere = false) {
  const events: ReleaseEvent[] = [];
  const verified: string[] = [];
  /** Digits of the segments that each verification has read. */
  const read: string[] = [];
  const hooks = { isVerifying: false, whileVerifying: (_: string) => {} };
  const bad = new Set(unsound.map(nameOf));
  /** The clock that retries use. */
  const clock = { now: 0 };
  const passing = new Set<string>();
  const unreadable = new Set<string>();
  const releases = new Releases({
    dataDir,
    now: () => 1,
    elapsed: () => clock.now,
    verify: async (_, name, known): Promise<Verification> => {
      if (hooks.isVerifying) throw new Error("two at once");
      hooks.isVerifying = true;
      verified.push(name);
      await Promise.resolve();
      hooks.whileVerifying(name);
      hooks.isVerifying = false;
      if (bad.has(name)) throw new ReleaseError(`release ${name}: body checksum`);
      if (passing.has(name)) throw new ReleaseError("EMFILE", undefined, { isRetryable: true });
      if (unreadable.has(name)) {
        throw new ReleaseError("EIO", undefined, { isRetryable: true, isUnreadable: true });
      }
      const { stamps } = findFiles(dataDir, name);
      const unknown = Object.keys(stamps).filter((sha256) => known[sha256] !== stamps[sha256]);
      read.push(unknown.map(([digit]) => digit).join(""));
      return { stamps };
    },
    onEvent: (event) => events.push(event),
    answersHere,
    pollMs: 3_600_000,
  });
  running = releases;
  /** Resolves when nothing is running. */
  const settled = async () => {
    await releases.check();
    await releases.check();
  };
  /** Does what a server does at startup. */
  const start = async () => {
    await releases.open();
    releases.start();
  };
  return { releases, events, verified, read, hooks, bad, passing, unreadable, clock, settled, start };
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
    const { releases, start, settled } = setUp();
    await start();
    expect(releases.current).toBeUndefined();
    expect(releases.refused).toBeUndefined();
    publish(1);
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.isVerified).toBe(true);
  });

  test("with its mark it serves at once, and is verified behind", async () => {
    publish(1);
    const { releases, start, settled, events } = setUp();
    await start();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.isVerified).toBe(false);
    await settled();
    expect(releases.isVerified).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(["serving", "verified"]);
  });

  test.each(CORRUPT)("%s: the newest older one that opens serves", async (_, text, reason) => {
    publish(1);
    const name = publish(2, text);
    const { releases, start, settled } = setUp();
    await start();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.refused).toMatchObject({ name, at: 1 });
    expect(releases.refused!.reason).toContain(reason);
    expect(releases.refused!.reason).not.toContain(dataDir);
    await settled();
    expect(serving(releases)).toBe(idOf(1));
  });

  test("unsound on reading: the next older takes its place, and so on", async () => {
    for (const n of [1, 2, 3]) publish(n);
    const { releases, start, settled, verified } = setUp([2, 3]);
    await start();
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    expect(verified).toEqual([nameOf(3), nameOf(2), nameOf(1)]);
  });

  test("all unsound: nothing serves", async () => {
    publish(1);
    const { releases, start, settled } = setUp([1]);
    await start();
    await settled();
    expect(releases.current).toBeUndefined();
    expect(releases.refused).toMatchObject({ name: nameOf(1) });
  });

  test("a rolled-back pointer serves the older release, not the newest", async () => {
    publish(1);
    publish(2);
    publish(1);
    const { releases, start } = setUp();
    await start();
    expect(serving(releases)).toBe(idOf(1));
  });

  test.each(["../../etc/passwd", "", "x".repeat(5000), "20260601T000000000Z-ZZZ"])(
    "a pointer to %p is no path",
    async (text) => {
      publish(1);
      replace(join(dataDir, "current"), text);
      const { releases, start } = setUp();
      await start();
      expect(serving(releases)).toBe(idOf(1));
    },
  );
});

/** Creates the start of a segment without sections, and nothing more. */
function segmentBytes(kind: SegmentKind): Uint8Array {
  const bytes = new Uint8Array(100);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode(SEGMENT_MAGIC));
  view.setUint32(8, SEGMENT_VERSION, true);
  view.setUint32(12, SEGMENT_KINDS[kind], true);
  view.setUint32(16, bytes.length, true);
  view.setUint32(32, headerChecksum(bytes, HEADER_BYTES), true);
  return bytes;
}

/** Publishes release `n` with a segment file. @returns the file */
function publishSegment(n: number): { readonly name: string; readonly path: string } {
  const path = join(dataDir, "segments", `${String(n).repeat(64)}.seg`);
  replace(path, segmentBytes("geo"));
  return { name: publish(n, JSON.stringify(release(n, { segments: { geo: segment(String(n)) } }))), path };
}
const mark = (n: number, path: string) => markVerified(dataDir, String(n).repeat(64), fileStamp(path));

describe("only what was verified answers", () => {
  test("without a mark for these very files a release is verified first", async () => {
    const { path, name } = publishSegment(1);
    mark(1, path);
    const { releases, verified } = setUp();
    await releases.open();
    expect([releases.current?.name, verified]).toEqual([name, []]);
    await releases.stop();

    replace(path, "y".repeat(100));
    const again = setUp();
    const opening = again.releases.open();
    expect(again.releases.current).toBeUndefined();
    await opening;
    expect([again.releases.current?.name, again.verified]).toEqual([name, [name]]);
  });

  test("one that is written to is left at once, and answers again when it is found sound", async () => {
    const older = publishSegment(1);
    mark(1, older.path);
    const { path, name } = publishSegment(2);
    const { releases, start, events, hooks } = setUp();
    await start();
    await releases.check();
    writeFileSync(path, "y".repeat(100));
    const during: (string | undefined)[] = [];
    hooks.whileVerifying = () => void during.push(releases.current?.name, releases.refused?.reason);
    await releases.check();
    expect(during).toEqual([older.name, expect.stringContaining("was changed while in use")]);
    expect(releases.current?.name).toBe(name);
    expect(releases.refused).toBeUndefined();
    const last = events.slice(-5).map((event) => event.type);
    expect(last).toEqual(["serving", "serving", "refused", "serving", "refusal-over"]);
  });

  test("one whose file is put in place anew, as a copy does it, goes on answering and is verified again", async () => {
    const { path, name } = publishSegment(1);
    const { releases, start, verified, events, hooks } = setUp();
    await start();
    await releases.check();
    replace(path, segmentBytes("geo"));
    const during: unknown[] = [];
    hooks.whileVerifying = () => void during.push(releases.current?.name, releases.isVerified);
    await releases.check();
    expect(during).toEqual([name, false]);
    expect(releases.isVerified).toBe(true);
    expect(verified).toEqual([name, name]);
    expect(events.map(({ type }) => type)).toEqual(["serving", "verified"]);
  });

  test("with no sound one left nothing answers, and that is an event", async () => {
    const { path, name } = publishSegment(1);
    const { releases, start, events } = setUp();
    await start();
    await releases.check();
    unlinkSync(path);
    await releases.check();
    expect(releases.current).toBeUndefined();
    expect(events).toContainEqual({ type: "none", before: name, wanted: name });
    expect(releases.refused).toMatchObject({ name });
  });
});

describe("a segment is read once", () => {
  /** Publishes release `n` with the segments of these digits. @returns its name */
  const publishWith = (n: number, ...digits: string[]) => {
    const [geo, reputation] = digits.map(segment);
    for (const [index, digit] of digits.entries()) {
      const path = pathOf(digit);
      if (!existsSync(path)) replace(path, segmentBytes(index === 0 ? "geo" : "reputation"));
    }
    return publish(n, JSON.stringify(release(n, { segments: { geo, reputation } })));
  };
  const pathOf = (digit: string) => join(dataDir, "segments", `${digit.repeat(64)}.seg`);

  test("a new release reads what it has of its own, a return to one that was read nothing", async () => {
    const { releases, start, settled, read } = setUp();
    publishWith(1, "a", "b");
    await start();
    await settled();
    publishWith(2, "a", "c");
    await settled();
    publishWith(1, "a", "b");
    await settled();
    expect(read).toEqual(["ab", "c", ""]);
    expect(serving(releases)).toBe(release(1, { segments: releases.current!.manifest.segments }).id);
    expect(releases.isVerified).toBe(true);
  });

  test("what was verified before it is made current is read then, one release at a time", async () => {
    const { releases, start, settled, read } = setUp();
    const name = publishWith(1, "a", "b");
    const next = publishWith(2, "a", "c");
    publishWith(1, "a", "b");
    await start();
    await Promise.all([releases.verify(name), releases.verify(next)]);
    expect(read.join("")).toBe("abc");
    publishWith(2, "a", "c");
    await settled();
    expect(releases.current?.name).toBe(next);
    expect(read.join("")).toBe("abc");
  });

  test("but again when its file is another, and when a process died of it", async () => {
    const { releases, start, settled, read } = setUp();
    const name = publishWith(1, "a", "b");
    await start();
    await settled();
    replace(pathOf("b"), "y".repeat(100));
    await settled();
    expect(read).toEqual(["ab", "b"]);
    releases.suspect();
    await settled();
    expect([releases.current?.name, ...read]).toEqual([name, "ab", "b", "ab"]);
  });

  test("a suspicion that comes while another release is verified is not cleared by what that one skips", async () => {
    const { releases, start, settled, read, hooks } = setUp();
    publishWith(1, "a", "b");
    await start();
    await settled();
    const next = publishWith(2, "a", "c");
    hooks.whileVerifying = () => {
      hooks.whileVerifying = () => {};
      releases.suspect();
    };
    await settled();
    expect(releases.current?.name).toBe(next);
    expect(read).toEqual(["ab", "c", "a"]);
  });

  test("one that was written to has no mark, also when its time is put back", async () => {
    const { start, settled, read } = setUp();
    publishWith(1, "a", "b");
    await start();
    await settled();
    const path = pathOf("a");
    const { atime, mtime } = statSync(path);
    markVerified(dataDir, "a".repeat(64), fileStamp(path));
    writeFileSync(path, "y".repeat(100));
    const noticed = settled();
    utimesSync(path, atime, mtime);
    await noticed;
    expect(existsSync(path.replace(".seg", ".verified"))).toBe(false);
    expect(read.at(-1)).toContain("a");
  });
});

describe("a fault that passes", () => {
  test("refuses no release for ever: it is tried again after 1, 2, 4 … 60 s", async () => {
    publish(1);
    const { releases, start, passing, clock, verified, events } = setUp();
    await start();
    await releases.check();
    const name = publish(2);
    passing.add(name);
    const waits: number[] = [];
    for (let tries = 1; tries <= 9; tries++) {
      await releases.check();
      await releases.check();
      expect(verified.filter((each) => each === name).length).toBe(tries);
      const last = events.at(-1)!;
      if (last.type !== "refused") throw new Error("it was not refused");
      waits.push(last.retry_in_ms!);
      clock.now += last.retry_in_ms!;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
    expect(serving(releases)).toBe(idOf(1));
    passing.clear();
    await releases.check();
    expect(serving(releases)).toBe(idOf(2));
    expect(releases.refused).toBeUndefined();
  });

  test("of what answers already changes nothing, unless a process has died of it", async () => {
    const older = publishSegment(1);
    mark(1, older.path);
    const { path, name } = publishSegment(2);
    mark(2, path);
    const { releases, start, passing, clock, events } = setUp();
    passing.add(name);
    await start();
    await releases.check();
    expect(releases.current?.name).toBe(name);
    expect(releases.refused).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["serving", "unverified"]);
    releases.suspect();
    await releases.check();
    expect(releases.current?.name).toBe(older.name);
    expect(releases.refused).toMatchObject({ name, reason: "EMFILE" });
    passing.clear();
    clock.now += 60_000;
    await releases.check();
    expect(releases.current?.name).toBe(name);
    expect(releases.refused).toBeUndefined();
  });
});

describe("a segment that the disk cannot read", () => {
  test("is left, as the process that touches it dies of it; and tried again", async () => {
    const older = publishSegment(1);
    mark(1, older.path);
    const { path, name } = publishSegment(2);
    mark(2, path);
    const { releases, start, unreadable, clock, settled } = setUp();
    unreadable.add(name);
    await start();
    await settled();
    expect(releases.current?.name).toBe(older.name);
    expect(releases.refused).toMatchObject({ name, reason: "EIO" });
    unreadable.clear();
    clock.now += 60_000;
    await settled();
    expect(releases.current?.name).toBe(name);
  });

  test("another release that has it too does not take its place unverified", async () => {
    const { name } = publishSegment(1);
    const { releases, start, settled, unreadable, verified, events } = setUp();
    await start();
    await settled();
    const shared = JSON.stringify(release(2, { segments: { geo: segment("1"), email: segment("1") } }));
    const younger = publish(2, shared);
    await settled();
    expect([releases.current?.name, verified]).toEqual([younger, [name, younger]]);
    for (const each of [name, younger]) unreadable.add(each);
    releases.suspect();
    await settled();
    expect(events.slice(-4).map(({ type }) => type)).toEqual(["serving", "none", "refused", "refused"]);
  });
});

describe("a process that answers itself", () => {
  const marked = (n: number) => existsSync(join(dataDir, `segments/${String(n).repeat(64)}.verified`));

  test("has no marks until it has verified what it answers from: were it to die, the next start would verify", async () => {
    const { path, name } = publishSegment(1);
    mark(1, path);
    const first = setUp([], true);
    await first.releases.open();
    expect([first.releases.current?.name, first.verified, marked(1)]).toEqual([name, [], false]);
    const second = setUp([], true); // the first process has died
    await second.releases.open();
    expect([second.releases.current?.name, second.verified]).toEqual([name, [name]]);
  });

  test("has them back when it has verified, goes to another release, or stops", async () => {
    const { path } = publishSegment(1);
    mark(1, path);
    const stopped = setUp([], true);
    await stopped.releases.open();
    await stopped.releases.stop();
    expect(marked(1)).toBe(true);

    const verifying = setUp([], true);
    await verifying.releases.open();
    expect(marked(1)).toBe(false);
    publishSegment(2);
    verifying.releases.start();
    await verifying.settled();
    expect([serving(verifying.releases) === undefined, marked(1)]).toEqual([false, true]);
  });

  test("leaves those alone that verifying has removed", async () => {
    const { path } = publishSegment(1);
    mark(1, path);
    const { releases } = setUp([], true);
    await releases.open();
    removeMark(dataDir, "1".repeat(64));
    await releases.stop();
    expect(marked(1)).toBe(false);
  });
});

describe("while serving", () => {
  test("a new release is verified before it serves", async () => {
    publish(1);
    const { releases, start, settled, verified, events } = setUp();
    await start();
    await settled();
    publish(2);
    await settled();
    expect(serving(releases)).toBe(idOf(2));
    expect(verified).toEqual([nameOf(1), nameOf(2)]);
    expect(events.at(-1)).toEqual({ type: "serving", name: nameOf(2), before: nameOf(1), wanted: undefined });
  });

  test.each(CORRUPT)("%s: refused by name, the one before goes on", async (_, text, reason) => {
    publish(1);
    const { releases, start, settled, events } = setUp();
    await start();
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
    const { releases, start, settled, verified, bad } = setUp([2]);
    await start();
    await settled();
    publish(2);
    await settled();
    await settled();
    expect(verified).toEqual([nameOf(1), nameOf(2)]);
    expect(serving(releases)).toBe(idOf(1));
    bad.clear();
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    publish(2); // the same release, written again
    await settled();
    expect(serving(releases)).toBe(idOf(2));
    expect(releases.refused).toBeUndefined();
  });

  test("the end of a refusal is no verification: only what was read is called verified", async () => {
    publish(1);
    const { releases, start, settled, verified, events } = setUp([2]);
    await start();
    await settled();
    const name = publish(2);
    await settled();
    publish(1); // a rollback to the release that answers
    await settled();
    expect(releases.refused).toBeUndefined();
    expect(verified).toEqual([nameOf(1), name]);
    expect(events.filter(({ type }) => type === "verified")).toEqual([{ type: "verified", name: nameOf(1) }]);
    expect(events.at(-1)).toEqual({ type: "refusal-over", name: nameOf(1), refused: name });
  });

  test("a segment that is repaired is tried again, though pointer and manifest stay", async () => {
    publish(1);
    const sha256 = "b".repeat(64);
    const { start, settled, events } = setUp();
    await start();
    await settled();
    publish(2, JSON.stringify(release(2, { segments: { geo: segment("b") } })));
    await settled();
    replace(join(dataDir, "segments", `${sha256}.seg`), "x".repeat(99));
    await settled();
    const refusals = events.flatMap((event) => (event.type === "refused" ? [event.reason] : []));
    expect(refusals.length).toBe(2);
    expect(refusals[1]).toContain("has 99 bytes, but the manifest lists 100");
  });

  test("so is one whose manifest could not be read at first", async () => {
    publish(1);
    const { releases, start, settled, events, bad, verified } = setUp();
    await start();
    await settled();
    const manifest = release(2, { segments: { geo: segment("b") } });
    const [name, text] = [releaseName(manifest), JSON.stringify(manifest)];
    const file = join(dataDir, "segments", `${"b".repeat(64)}.seg`);
    writeFileSync(file, "x".repeat(100));
    bad.add(name);
    // The manifest's stamp is the same when it becomes readable again.
    const path = join(dataDir, "releases", `${name}.json`);
    const write = (content: string) => {
      writeFileSync(path, content);
      utimesSync(path, 1, 1);
    };
    write(text.replace("{", "?"));
    replace(join(dataDir, "current"), `${name}\n`);
    await settled();
    expect(events.at(-1)).toMatchObject({ type: "refused", reason: expect.stringContaining("JSON") });
    write(text);
    await settled();
    expect(verified).toEqual([nameOf(1), name]);
    bad.clear();
    replace(file, "y".repeat(100));
    await settled();
    expect(releases.current?.name).toBe(name);
  });

  test("a pointer that goes away changes nothing", async () => {
    publish(1);
    const { releases, start, settled } = setUp();
    await start();
    await settled();
    unlinkSync(join(dataDir, "current"));
    await settled();
    expect(serving(releases)).toBe(idOf(1));
    expect(releases.refused).toBeUndefined();
  });

  test("a rollback is a swap like any other", async () => {
    publish(1);
    publish(2);
    const { releases, start, settled } = setUp();
    await start();
    await settled();
    publish(1);
    await settled();
    expect(serving(releases)).toBe(idOf(1));
  });

  test("stop during a verification swaps nothing any more", async () => {
    publish(1);
    const { releases, start, settled, hooks, verified } = setUp();
    await start();
    await settled();
    publish(2);
    hooks.whileVerifying = () => void releases.stop();
    await releases.check();
    expect([serving(releases), verified.at(-1)]).toEqual([idOf(1), nameOf(2)]);
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
    expect(() => openRelease(dataDir, "../current")).toThrow("not a release name");
  });
  test("releases are listed newest first, other files passed over", () => {
    for (const n of [1, 3, 2]) publish(n);
    writeFileSync(join(dataDir, "releases", "notes.json"), "");
    expect(releaseNames(dataDir)).toEqual([nameOf(3), nameOf(2), nameOf(1)]);
  });
});
