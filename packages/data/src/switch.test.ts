import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ANSWERS, type Release, releaseName } from "@inkling/engine";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import {
  currentName,
  DATA_FOLDER,
  damageHint,
  dropBrokenSegments,
  findRollback,
  findUsable,
  hintFor,
  openManifest,
  openServable,
  pin,
  pinnedName,
  pointTo,
  prepareDataFolder,
  publish,
  type ReleaseError,
  type Rollback,
  releaseId,
  releaseNames,
  requireCurrent,
  unpin,
  verifyRelease,
  verifySegments,
} from "./index.ts";

const temp = temporaryFolder();

const SHA = "ab".repeat(32);

/** Creates a release of a day in June, with the id of its content. */
function release(day: number, over: Partial<Release> = {}): Release {
  const manifest = {
    format: 1 as const,
    code: String(day).repeat(64),
    created_at: `2026-06-0${day}T00:00:00.000Z`,
    segments: {},
    feeds: [],
    missing: [...ANSWERS],
    partial: [],
    ...over,
  };
  return { id: releaseId(manifest), ...manifest };
}
const names = [1, 2, 3].map((day) => releaseName(release(day)));

/** Creates a data folder with three releases, of which the newest is current. */
function dataFolder(over: Record<string, object | string> = {}): string {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, "releases"));
  mkdirSync(join(dataDir, "segments"));
  for (const [index, name] of names.entries()) {
    const content = over[name] ?? release(index + 1);
    const text = typeof content === "string" ? content : JSON.stringify(content);
    writeFileSync(join(dataDir, "releases", `${name}.json`), text);
  }
  writeFileSync(join(dataDir, "current"), `${names[2]}\n`);
  return dataDir;
}

async function errorOf(run: () => unknown): Promise<ReleaseError> {
  try {
    await run();
  } catch (error) {
    return error as ReleaseError;
  }
  throw new Error("it did not fail");
}

const previous = (dataDir: string): Promise<Rollback> => findRollback(dataDir, undefined, verifyRelease);
const chosen = (dataDir: string, name: string) => findRollback(dataDir, name, verifyRelease);
const makeCurrent = (dataDir: string, name: string) => pointTo(dataDir, DATA_FOLDER.current, name);

const withSegment = release(4, { segments: { reputation: { sha256: SHA, bytes: 100, inputs: SHA } } });

describe("releases of a data folder", () => {
  test("are listed newest first, without other files", async () => {
    const dataDir = dataFolder();
    writeFileSync(join(dataDir, "releases/.tmp-1-x.json"), "");
    writeFileSync(join(dataDir, "releases/notes.json"), "");
    expect(releaseNames(dataDir)).toEqual([...names].reverse());
    expect(releaseNames(join(temp, "nowhere"))).toEqual([]);
  });

  test("rollback goes to the release before the current one, and again to the one before that", async () => {
    const dataDir = dataFolder();
    for (const step of [1, 0]) {
      const { from, to } = await previous(dataDir);
      expect([from, to]).toEqual([names[step + 1]!, names[step]!]);
      makeCurrent(dataDir, to);
      expect(readFileSync(join(dataDir, "current"), "utf8")).toBe(`${names[step]}\n`);
      expect(readdirSync(dataDir).filter((file) => file.startsWith("."))).toEqual([]);
    }
    expect((await errorOf(() => previous(dataDir))).message).toBe(
      `there is no release earlier than ${names[0]}`,
    );
  });

  test.each(["", "../../etc/passwd", "20260609T000000000Z-000000000009"])(
    "a way back leads to the newest sound release when `current` holds %p",
    async (held) => {
      const dataDir = dataFolder({ [names[2]!]: "{" });
      writeFileSync(join(dataDir, "current"), `${held}\n`);
      const { from, to, passedOver } = await previous(dataDir);
      expect([from, to]).toEqual([held, names[1]!]);
      expect(passedOver).toEqual([expect.stringContaining(names[2]!)]);
    },
  );

  test("rollback skips damaged releases, and reports when none is left", async () => {
    const dataDir = dataFolder({ [names[1]!]: "{" });
    expect(await previous(dataDir)).toMatchObject({ from: names[2], to: names[0] });
    writeFileSync(join(dataDir, "releases", `${names[0]}.json`), "{");
    const error = await errorOf(() => previous(dataDir));
    expect(error.message).toMatch(/^no release before .* is sound: .*; /);
    expect(error.hint).toContain("data update");
  });

  test("any stored release can be chosen, older, newer or the current one", async () => {
    const dataDir = dataFolder();
    makeCurrent(dataDir, names[1]!);
    for (const name of names) expect(await chosen(dataDir, name)).toMatchObject({ from: names[1], to: name });
  });

  test("a pinned release stays current until it is unpinned", async () => {
    const dataDir = dataFolder();
    pin(dataDir, names[0]!);
    expect([currentName(dataDir), pinnedName(dataDir)]).toEqual([names[0], names[0]]);
    await unpin(dataDir, () => {});
    expect([currentName(dataDir), pinnedName(dataDir)]).toEqual([names[2], undefined]);
    await unpin(dataDir, verifyRelease);
    expect(currentName(dataDir)).toBe(names[2]);
  });

  test("unpin goes to a release that a build publishes while it verifies, and verifies that too", async () => {
    const dataDir = dataFolder();
    pin(dataDir, names[0]!);
    prepareDataFolder(dataDir);
    const verified: string[] = [];
    const next = releaseName(release(4));
    const verify = (_: string, name: string) => {
      verified.push(name);
      if (verified.length === 1) publish(dataDir, release(4));
    };
    await unpin(dataDir, verify);
    expect([currentName(dataDir), pinnedName(dataDir)]).toEqual([next, undefined]);
    expect(verified).toEqual([names[2]!, next]);
  });

  test("a pin stays when the newest release is damaged", async () => {
    const dataDir = dataFolder({ [names[2]!]: "{" });
    pin(dataDir, names[0]!);
    expect((await errorOf(() => unpin(dataDir, verifyRelease))).hint).toContain(
      "the release in use did not change",
    );
    expect([currentName(dataDir), pinnedName(dataDir)]).toEqual([names[0], names[0]]);
  });

  test.each(["20260609T000000000Z-000000000009", "../current", ""])(
    "a chosen one that there is not: %p",
    async (name) => {
      const error = await errorOf(() => chosen(dataFolder(), name));
      expect(error.message).toStartWith(`there is no release ${name} in `);
      expect(error.hint).toBe(`the stored releases are ${[...names].reverse().join(", ")}`);
      expect((await errorOf(() => chosen(join(temp, "nowhere"), name))).hint).toContain("data update");
    },
  );

  test("a chosen release that is damaged is refused, not skipped", async () => {
    const dataDir = dataFolder({ [names[1]!]: "{" });
    expect((await errorOf(() => chosen(dataDir, names[1]!))).message).toMatch(/^release .*: .*JSON/);
  });

  const broken: [name: string, content: string | object, message: RegExp][] = [
    ["cut short", '{"format":', /^release .*: .*JSON/],
    ["of another format", release(3, { format: 2 as 1 }), /^release .*: .*format/],
    ["damaged", { ...release(3), missing: [] }, /^release .*: the manifest is damaged/],
  ];
  test.each(broken)("a manifest that is %s is refused, with a hint", async (_, content, message) => {
    const dataDir = dataFolder({ [names[2]!]: content });
    const error = await errorOf(() => requireCurrent(dataDir));
    expect(error.message).toMatch(message);
    expect(error.hint).toContain("`inkling data rollback");
    expect(findUsable(dataDir)).toMatchObject({
      release: undefined,
      problem: expect.stringContaining("release "),
    });
  });

  test("without any release, the hint is the command that makes one", async () => {
    const empty = temporaryFolder();
    for (const open of [requireCurrent, openServable, previous]) {
      expect((await errorOf(() => open(empty))).hint).toContain("`inkling data update");
    }
    expect(findUsable(empty)).toEqual({ release: undefined, problem: undefined });
  });

  const damaged: [name: string, over: Record<string, object | string>, current: string][] = [
    ["whose manifest is damaged", { [names[2]!]: "{" }, names[2]!],
    ["that `current` names wrongly", {}, "../../etc/passwd"],
    ["that is gone", {}, "20260609T000000000Z-000000000009"],
  ];
  test.each(damaged)("a current release %s is not usable, and named", async (_, over, current) => {
    const dataDir = dataFolder(over);
    writeFileSync(join(dataDir, "current"), `${current}\n`);
    expect(findUsable(dataDir).release).toBeUndefined();
    expect((await errorOf(() => openServable(dataDir))).message).toMatch(/^release |^current /);
  });

  test("a name in `current` that leads out of the folder is refused", async () => {
    const dataDir = dataFolder();
    writeFileSync(join(dataDir, "current"), "../../etc/passwd\n");
    expect(findUsable(dataDir).problem).toContain("not a release name");
  });
});

describe("segments", () => {
  const cases: [name: string, bytes: Uint8Array | undefined, problem: RegExp, refusal: RegExp][] = [
    ["missing", undefined, /^is missing$/, /: its segment segments\/\w+\.seg \(reputation\) is missing$/],
    ["empty", new Uint8Array(0), /./, / is corrupt: reputation: /],
    [
      "of another size",
      new Uint8Array(64),
      /has 64 bytes instead of 100/,
      / is corrupt: reputation: has 64 /,
    ],
    [
      "of another content",
      new Uint8Array(100),
      /not an Inkling segment; SHA-256 is .*which does not match its name/,
      / is corrupt: reputation: /,
    ],
  ];
  test.each(cases)(
    "one that is %s is named, and only that is deleted",
    async (_, bytes, problem, refusal) => {
      const dataDir = dataFolder();
      const name = releaseName(withSegment);
      writeFileSync(join(dataDir, "releases", `${name}.json`), JSON.stringify(withSegment));
      makeCurrent(dataDir, name);
      const file = join(dataDir, `segments/${SHA}.seg`);
      const other = join(dataDir, "segments/other.seg");
      if (bytes !== undefined) writeFileSync(file, bytes);
      writeFileSync(other, "x");
      const verdicts = verifySegments(dataDir, openManifest(dataDir, name));
      expect(verdicts).toMatchObject([{ kind: "reputation", file: `segments/${SHA}.seg` }]);
      expect(verdicts[0]!.problem).toMatch(problem);
      expect((await errorOf(() => chosen(dataDir, name))).message).toMatch(refusal);
      expect(findUsable(dataDir).problem).not.toContain("ENOENT");
      const rollback = `data update\`, which rebuilds the damaged files; until then, \`inkling data rollback\` goes back to an earlier release`;
      expect((await errorOf(() => openServable(dataDir))).hint).toContain(rollback);
      expect(hintFor(dataDir, verdicts, damageHint(dataDir, name))).toContain(rollback);
      dropBrokenSegments(dataDir);
      expect([existsSync(file), existsSync(other)]).toEqual([false, true]);
    },
  );

  test("files that cannot be read are a matter of the machine, damaged files of a build", () => {
    const verdict = (kind: "geo" | "reputation" | "email", state: "unreadable" | "gone" | "damaged") => ({
      ...{ kind, file: `segments/${kind}.seg`, bytes: 1 },
      ...{ state, problem: "p" },
    });
    const unread = verdict("geo", "unreadable");
    const gone = verdict("reputation", "gone");
    const damaged = verdict("email", "damaged");
    expect(hintFor("none", [unread])).toContain("the permissions of these files");
    expect(hintFor("none", [unread, gone])).toContain("data update");
    expect(hintFor("none", [unread, damaged])).toContain("data update");
  });

  test.if(process.platform === "linux")("a server that is to start maps none of them", async () => {
    const dataDir = dataFolder(Object.fromEntries(names.map((name) => [name, "{"])));
    const name = releaseName(withSegment);
    writeFileSync(join(dataDir, "releases", `${name}.json`), JSON.stringify(withSegment));
    writeFileSync(join(dataDir, `segments/${SHA}.seg`), new Uint8Array(100));
    makeCurrent(dataDir, name);
    expect((await errorOf(() => openServable(dataDir))).message).toContain("not an Inkling segment");
    expect(readFileSync("/proc/self/maps", "utf8")).not.toContain(dataDir);
  });

  test("one of another version of Inkling is reported and kept", async () => {
    const dataDir = dataFolder();
    const bytes = Buffer.alloc(64);
    bytes.write("INKLING\0");
    bytes.writeUInt32LE(2, 8);
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const older = release(4, { segments: { reputation: { sha256, bytes: bytes.length, inputs: sha256 } } });
    const name = releaseName(older);
    writeFileSync(join(dataDir, "releases", `${name}.json`), JSON.stringify(older));
    writeFileSync(join(dataDir, `segments/${sha256}.seg`), bytes);
    makeCurrent(dataDir, name);
    const verdicts = verifySegments(dataDir, openManifest(dataDir, name));
    expect(verdicts).toMatchObject([{ state: "foreign" }]);
    expect(verdicts[0]!.problem).toMatch(/^version: got 2, this engine reads/);
    expect(hintFor(dataDir, verdicts)).toMatch(/another version of Inkling/);
    expect((await errorOf(() => chosen(dataDir, name))).message).toBe(
      `release ${name} was built by another version of Inkling: reputation: ${verdicts[0]!.problem}`,
    );
    expect((await errorOf(() => verifyRelease(dataDir, name))).damaged).toEqual([]); // fetching it again would not help
    const { hint } = await errorOf(() => openServable(dataDir));
    expect(hint).toMatch(/another version of Inkling .*data update`$/);
    dropBrokenSegments(dataDir);
    expect(existsSync(join(dataDir, `segments/${sha256}.seg`))).toBe(true);
  });
});
