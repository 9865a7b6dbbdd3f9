import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ANSWERS, type Release } from "@inkling/engine";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import {
  currentName,
  DataFolderLocked,
  findCurrent,
  findLock,
  hasSegment,
  KEPT_RELEASES,
  keptManifests,
  lockDataFolder,
  pin,
  prepareDataFolder,
  publish,
  releaseId,
  releaseNames,
  releasesBefore,
  replaceFile,
  sweep,
  temporaryPath,
  writeSegmentFile,
} from "./index.ts";

function withFolder(body: (dataDir: string) => void): void {
  const dataDir = temporaryFolder();
  try {
    prepareDataFolder(dataDir);
    body(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

function manifest(dataDir: string, n: number): Release {
  const segment = writeSegmentFile(dataDir, [new TextEncoder().encode(`segment ${n}`)]);
  const content = {
    format: 1 as const,
    created_at: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString(),
    code: segment.sha256,
    segments: { email: { ...segment, inputs: segment.sha256 } },
    feeds: [],
    missing: ANSWERS.filter((answer) => answer !== "disposable"),
    partial: [],
  };
  return { id: releaseId(content), ...content };
}

const isLinux = process.platform === "linux";

const segmentFiles = (dataDir: string) =>
  readdirSync(join(dataDir, "segments")).filter((file) => file.endsWith(".seg"));

describe("publishing", () => {
  test(`keeps the last ${KEPT_RELEASES} releases and their segments, and nothing else`, () => {
    withFolder((dataDir) => {
      const names = Array.from({ length: KEPT_RELEASES + 3 }, (_, n) =>
        publish(dataDir, manifest(dataDir, n)),
      );
      const kept = names.slice(-KEPT_RELEASES);
      expect(readdirSync(join(dataDir, "releases")).sort()).toEqual(kept.map((name) => `${name}.json`));
      expect(segmentFiles(dataDir)).toHaveLength(KEPT_RELEASES);
      expect(readdirSync(join(dataDir, "segments"))).toHaveLength(KEPT_RELEASES);
      expect(findCurrent(dataDir)?.name).toBe(kept.at(-1)!);
    });
  });

  test("a release with a network segment has the id that versions without it compute", () => {
    withFolder((dataDir) => {
      const { id: _, ...content } = manifest(dataDir, 1);
      const network = { ...content.segments.email!, inputs: "f".repeat(64) };
      const whole = { ...content, segments: { ...content.segments, network } };
      expect(releaseId(whole)).toBe(releaseId(content)); // older versions drop the unknown field
      const name = publish(dataDir, { id: releaseId(whole), ...whole });
      expect(keptManifests(dataDir)[0]).toMatchObject({ name, manifest: { segments: { network } } });
      const feeds = [
        { id: "asn", sets: "network", source: "seed", state: "loaded", entries: 1, licence: "x" },
      ];
      expect(releaseId({ ...whole, feeds: feeds as never })).not.toBe(releaseId(whole));
    });
  });

  test("removes files of a killed build", () => {
    withFolder((dataDir) => {
      mkdirSync(join(dataDir, "feeds/tor"), { recursive: true });
      const left = ["segments/.tmp-999999999-x.seg", "releases/.tmp-999999999.17-y.json"];
      left.push("feeds/tor/.tmp-999999999.17-z", ".tmp-999999999.17-current");
      // A process that has exited may have had the same id.
      if (process.platform === "linux") left.push(`.tmp-${process.pid}.1-pinned`);
      const beingWritten = temporaryPath(join(dataDir, "overrides.json"));
      for (const file of left) writeFileSync(join(dataDir, file), "half");
      writeFileSync(beingWritten, "half");
      writeSegmentFile(dataDir, [new TextEncoder().encode("named by no manifest")]);
      publish(dataDir, manifest(dataDir, 1));
      expect(segmentFiles(dataDir)).toHaveLength(1);
      expect(left.filter((file) => existsSync(join(dataDir, file)))).toEqual([]);
      expect(existsSync(beingWritten)).toBe(true);
      expect(readdirSync(join(dataDir, "releases"))).toHaveLength(1);
    });
  });

  test("the order is that of publication, whatever the clock was", () => {
    withFolder((dataDir) => {
      const ahead = publish(dataDir, manifest(dataDir, 500_000)); // 347 days ahead
      const names = Array.from({ length: KEPT_RELEASES + 1 }, (_, n) =>
        publish(dataDir, manifest(dataDir, n)),
      );
      const newestFirst = names.slice(-KEPT_RELEASES).reverse();
      expect(releaseNames(dataDir)).toEqual(newestFirst);
      expect(names).not.toContain(ahead);
      expect(keptManifests(dataDir)[0]?.name).toBe(newestFirst[0]!);
      expect(releasesBefore(dataDir, newestFirst[1]!)).toEqual(newestFirst.slice(2));
      expect(releasesBefore(dataDir, "20990101T000000000Z-000000000000")).toEqual(newestFirst);
      rmSync(join(dataDir, "published")); // an earlier version did not write this file
      expect(releaseNames(dataDir)).toEqual(newestFirst); // by name
      const last = publish(dataDir, manifest(dataDir, -5));
      expect(releaseNames(dataDir)).toEqual([last, ...newestFirst.slice(0, -1)]);
    });
  });

  test("a damaged release takes no place of a sound one", () => {
    withFolder((dataDir) => {
      const names = Array.from({ length: KEPT_RELEASES }, (_, n) => publish(dataDir, manifest(dataDir, n)));
      truncateSync(join(dataDir, `releases/${names[2]}.json`), 10);
      const last = publish(dataDir, manifest(dataDir, 9));
      expect(releaseNames(dataDir)).toEqual([last, ...names.reverse()]);
      sweep(dataDir);
      expect(releaseNames(dataDir)).toHaveLength(KEPT_RELEASES + 1);
    });
  });

  test.skipIf(!isLinux)("a pin holds while the manifest of its release cannot be read for now", () => {
    withFolder((dataDir) => {
      const pinned = publish(dataDir, manifest(dataDir, 1));
      pin(dataDir, pinned);
      const path = join(dataDir, `releases/${pinned}.json`);
      const text = readFileSync(path);
      rmSync(path);
      symlinkSync("/proc/self/mem", path); // EIO
      const next = publish(dataDir, manifest(dataDir, 2));
      expect([currentName(dataDir), keptManifests(dataDir)[0]?.name]).toEqual([pinned, next]);
      replaceFile(path, ["{"]);
      const last = publish(dataDir, manifest(dataDir, 3));
      expect(currentName(dataDir)).toBe(last); // a damaged release is not in use
      pin(dataDir, pinned);
      replaceFile(path, [text]);
      publish(dataDir, manifest(dataDir, 4));
      expect(currentName(dataDir)).toBe(pinned);
    });
  });

  test("an empty `current` reads as no release", () => {
    withFolder((dataDir) => {
      expect(findCurrent(dataDir)).toBeUndefined();
      writeFileSync(join(dataDir, "current"), "gone\n");
      expect(findCurrent(dataDir)).toBeUndefined();
    });
  });
});

describe("a segment", () => {
  test("that is corrupt on disk is written again", () => {
    withFolder((dataDir) => {
      const chunks = [new TextEncoder().encode("segment"), new TextEncoder().encode(" in two chunks")];
      const { sha256 } = writeSegmentFile(dataDir, chunks);
      const path = join(dataDir, `segments/${sha256}.seg`);
      expect(hasSegment(dataDir, sha256)).toBe(true);
      writeFileSync(path, "segmenT in two chunks");
      expect(hasSegment(dataDir, sha256)).toBe(false);
      writeSegmentFile(dataDir, chunks);
      expect(readFileSync(path, "utf8")).toBe("segment in two chunks");
    });
  });
});

describe("replaceFile", () => {
  test("a write that fails leaves the old file and no temporary one", () => {
    withFolder((dataDir) => {
      const path = join(dataDir, "current");
      replaceFile(path, ["before"]);
      const broken = { toString: () => "never" } as unknown as Uint8Array;
      expect(() =>
        replaceFile(path, ["half", Object.assign(Object.create(broken), { length: 3 })]),
      ).toThrow();
      expect(readFileSync(path, "utf8")).toBe("before");
      expect(readdirSync(dataDir).filter((file) => file.startsWith(".tmp-"))).toEqual([]);
    });
  });
});

describe("the lock", () => {
  const startOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")[19];
  const rows: readonly (readonly [name: string, content: () => string, isRefused: boolean])[] = [
    ["of a living process", () => `${process.ppid} ${isLinux ? startOf(process.ppid) : ""}`, true],
    ["of a living process, written before starts were", () => String(process.ppid), true],
    ["of a process that is gone", () => "999999999 1", false],
    ["of a number that another process has now", () => `${process.ppid} 1`, !isLinux],
    ["without a number", () => "", false],
    ["with other content", () => "<html>", false],
  ];
  test.each(rows)("%s", (_, content, isRefused) => {
    withFolder((dataDir) => {
      const path = join(dataDir, "build.lock");
      writeFileSync(path, content());
      const found = findLock(dataDir);
      expect(found?.pid).toBe(isRefused ? Number.parseInt(content(), 10) : undefined);
      if (isRefused) {
        expect(() => lockDataFolder(dataDir)).toThrow(DataFolderLocked);
        expect(readFileSync(path, "utf8")).toBe(content());
      } else {
        const release = lockDataFolder(dataDir);
        expect(() => lockDataFolder(dataDir)).toThrow(DataFolderLocked);
        release();
        expect(existsSync(path)).toBe(false);
      }
      expect(readdirSync(dataDir).filter((file) => file.startsWith(".tmp-"))).toEqual([]);
    });
  });

  test("of a process that is gone, while another takes it over; one that died of that blocks nobody", () => {
    withFolder((dataDir) => {
      const [path, takeover] = [join(dataDir, "build.lock"), join(dataDir, "build.lock.takeover")];
      writeFileSync(path, "999999999 1");
      writeFileSync(takeover, `${process.ppid} ${isLinux ? startOf(process.ppid) : ""}`);
      expect(() => lockDataFolder(dataDir)).toThrow(DataFolderLocked);
      expect(readFileSync(path, "utf8")).toBe("999999999 1");
      writeFileSync(takeover, "999999998 1");
      const unlock = lockDataFolder(dataDir);
      expect(readFileSync(path, "utf8")).toStartWith(`${process.pid} `);
      unlock();
      expect(readdirSync(dataDir).filter((file) => file.includes("build.lock"))).toEqual([]);
    });
  });

  test("of another is not removed by who had it before", () => {
    withFolder((dataDir) => {
      const unlock = lockDataFolder(dataDir);
      writeFileSync(join(dataDir, "build.lock"), `${process.ppid} 1`);
      unlock();
      expect(readFileSync(join(dataDir, "build.lock"), "utf8")).toBe(`${process.ppid} 1`);
    });
  });

  test("of a process that is gone is taken over by one of three that find it at the same time", async () => {
    const parent = temporaryFolder();
    const rounds = Array.from({ length: 200 }, (_, n) => join(parent, String(n)));
    for (const [n, folder] of rounds.entries()) {
      mkdirSync(folder);
      writeFileSync(join(folder, "build.lock"), "999999999 1");
      if (n % 2 === 1) writeFileSync(join(folder, "build.lock.takeover"), "999999998 1");
    }
    // The program keeps its locks, and exits after all processes have tried.
    const program = `
      import { lockDataFolder } from ${JSON.stringify(join(import.meta.dir, "lock.ts"))};
      const [begin, ...folders] = process.argv.slice(1);
      const results = folders.map((folder, n) => {
        while (Date.now() < Number(begin) + n * 15);
        try {
          lockDataFolder(folder);
          return "held";
        } catch (error) {
          return error.name;
        }
      });
      console.log(JSON.stringify(results));
      await Bun.stdin.text();`;
    const begin = String(Date.now() + 1_000);
    const children = [1, 2, 3].map(() =>
      Bun.spawn([process.execPath, "-e", program, begin, ...rounds], { stdin: "pipe", stdout: "pipe" }),
    );
    try {
      const results = await Promise.all(
        children.map(async ({ stdout }) => JSON.parse(await firstLine(stdout))),
      );
      const outcomes = rounds.map((_, n) =>
        results
          .map((of) => of[n])
          .sort()
          .join(" "),
      );
      expect([...new Set(outcomes)]).toEqual(["DataFolderLocked DataFolderLocked held"]);
    } finally {
      for (const child of children) child.kill("SIGKILL");
      rmSync(parent, { recursive: true });
    }
  });

  test.skipIf(!isLinux)("of a zombie process", () => {
    withFolder((dataDir) => {
      // The shell's child exits soon, and the `sleep` that replaced the shell never reads its exit status.
      const shell = Bun.spawn(["sh", "-c", "sleep 0.2 & exec sleep 30"]);
      try {
        const pid = Number(childOf(shell.pid));
        const started = startOf(pid);
        while (!readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ")) Bun.sleepSync(5);
        writeFileSync(join(dataDir, "build.lock"), `${pid} ${started}`);
        lockDataFolder(dataDir)();
      } finally {
        shell.kill("SIGKILL");
      }
    });
  });
});

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += Buffer.from(chunk).toString();
    if (text.endsWith("\n")) break;
  }
  return text;
}

/** Waits until a process has a child, and returns its id. */
function childOf(parent: number): string {
  for (;;) {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim();
    if (children !== "") return children.split(" ")[0]!;
    Bun.sleepSync(5);
  }
}
