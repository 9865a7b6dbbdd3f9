import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Release } from "@inkling/engine";
import {
  BuildBusy,
  hasSegment,
  KEPT_RELEASES,
  lockDataFolder,
  prepareDataFolder,
  publish,
  readCurrent,
  writeSegmentFile,
  writeWhole,
} from "./data-folder.ts";

function withFolder(body: (dataDir: string) => void): void {
  const dataDir = mkdtempSync(join(tmpdir(), "inkling-data-"));
  try {
    prepareDataFolder(dataDir);
    body(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

function manifest(dataDir: string, n: number): Release {
  const segment = writeSegmentFile(dataDir, [new TextEncoder().encode(`segment ${n}`)]);
  return {
    format: 1,
    id: n.toString(16).padStart(12, "0"),
    created_at: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString(),
    code: segment.sha256,
    segments: { email: { ...segment, inputs: segment.sha256 } },
    feeds: [],
    missing: [],
    partial: [],
  };
}

describe("publishing", () => {
  test(`keeps the last ${KEPT_RELEASES} releases and their segments, and nothing else`, () => {
    withFolder((dataDir) => {
      const names = Array.from({ length: KEPT_RELEASES + 3 }, (_, n) =>
        publish(dataDir, manifest(dataDir, n)),
      );
      const kept = names.slice(-KEPT_RELEASES);
      expect(readdirSync(join(dataDir, "releases")).sort()).toEqual(kept.map((name) => `${name}.json`));
      expect(readdirSync(join(dataDir, "segments"))).toHaveLength(KEPT_RELEASES);
      expect(readCurrent(dataDir)?.name).toBe(kept.at(-1)!);
    });
  });

  test("sweeps away what a killed build left", () => {
    withFolder((dataDir) => {
      writeFileSync(join(dataDir, "segments/.tmp-1-x.seg"), "half");
      writeFileSync(join(dataDir, "releases/.tmp-1-y.json"), "half");
      writeSegmentFile(dataDir, [new TextEncoder().encode("named by no manifest")]);
      publish(dataDir, manifest(dataDir, 1));
      expect(readdirSync(join(dataDir, "segments"))).toHaveLength(1);
      expect(readdirSync(join(dataDir, "releases"))).toHaveLength(1);
    });
  });

  test("a current that names nothing reads as no release", () => {
    withFolder((dataDir) => {
      expect(readCurrent(dataDir)).toBeUndefined();
      writeFileSync(join(dataDir, "current"), "gone\n");
      expect(readCurrent(dataDir)).toBeUndefined();
    });
  });
});

describe("a segment", () => {
  test("that lost a bit on disk is written again", () => {
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

describe("writeWhole", () => {
  test("a write that fails leaves the old file and no temporary one", () => {
    withFolder((dataDir) => {
      const path = join(dataDir, "current");
      writeWhole(path, ["before"]);
      const broken = { toString: () => "never" } as unknown as Uint8Array;
      expect(() => writeWhole(path, ["half", Object.assign(Object.create(broken), { length: 3 })])).toThrow();
      expect(readFileSync(path, "utf8")).toBe("before");
      expect(readdirSync(dataDir).filter((file) => file.startsWith(".tmp-"))).toEqual([]);
    });
  });
});

describe("the lock", () => {
  test("is refused while its process lives, and taken over when it is gone", () => {
    withFolder((dataDir) => {
      writeFileSync(join(dataDir, "build.lock"), String(process.ppid));
      expect(() => lockDataFolder(dataDir)).toThrow(BuildBusy);
      writeFileSync(join(dataDir, "build.lock"), "999999999");
      const release = lockDataFolder(dataDir);
      expect(existsSync(join(dataDir, "build.lock"))).toBe(true);
      release();
      expect(existsSync(join(dataDir, "build.lock"))).toBe(false);
    });
  });
});
