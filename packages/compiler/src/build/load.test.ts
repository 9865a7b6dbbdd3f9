// What a report tells everybody with a key, and what it must not.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FEEDS } from "../catalog/feeds.ts";
import { loadFeed } from "./load.ts";

const TOR = FEEDS.find(({ id }) => id === "tor-bulk-exits")!;
const LIST = Array.from({ length: 500 }, (_, i) => `5.2.${i >> 8}.${i & 255}\n`).join("");

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "inkling-load-"));
  for (const part of ["data/feeds", "mirror"]) mkdirSync(join(root, part), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

const load = (mirror: string) =>
  loadFeed(
    TOR,
    { dataDir: join(root, "data"), mirror, fetch: false, now: new Date(), onlyDue: false, chance: () => 0.5 },
    undefined,
  );

describe("a mirror's user and password", () => {
  test("open it, and stand neither in the report nor in what is kept", async () => {
    let asked = 0;
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        asked++;
        const isKnown = request.headers.get("authorization") === `Basic ${btoa("reader:hunter@2")}`;
        return isKnown ? new Response(LIST) : new Response("no", { status: 401 });
      },
    });
    try {
      const withPassword = (password: string) => `http://reader:${password}@127.0.0.1:${server.port}/feeds/`;
      const refused = await load(withPassword("wrong"));
      expect(refused.report.error).toContain(" answered 401");
      const stray = await load(withPassword("100%"));
      expect(stray.report.error).toContain(" answered 401");
      const loaded = await load(withPassword("hunter%402"));
      expect([loaded.report.state, loaded.report.entries]).toEqual(["loaded", 500]);
      expect(asked).toBe(3);
      const kept = readdirSync(join(root, "data/feeds/tor-bulk-exits")).map((file) =>
        readFileSync(join(root, "data/feeds/tor-bulk-exits", file), "utf8"),
      );
      const told = JSON.stringify([refused.report, loaded.report, kept]);
      for (const secret of ["hunter", "wrong", "reader"]) expect(told).not.toContain(secret);
    } finally {
      await server.stop(true);
    }
  });
});

test("a mirror that does not answer refuses nothing: the feed is missing, and says why", async () => {
  const { report, refused, unreached } = await load("http://127.0.0.1:1");
  expect([report.state, refused, unreached]).toEqual(["missing", false, true]);
  expect(report.error).toMatch(/^mirror: \S+ could not be reached: connection refused$/);
});

describe("where things stand on this machine", () => {
  test.each([
    ["a file that is refused", "<html></html>"],
    ["a file that is missing", undefined],
  ])("is not told of %s", async (_, content) => {
    const mirror = join(root, "mirror");
    if (content !== undefined) writeFileSync(join(mirror, "tor-bulk-exits.txt"), content);
    mkdirSync(join(root, "data/feeds/tor-bulk-exits"));
    writeFileSync(join(root, "data/feeds/tor-bulk-exits/state.json"), "{");
    const { report } = await load(mirror);
    expect(report.state).not.toBe("loaded");
    expect(report.error).toStartWith("mirror: ");
    expect(report.error).not.toContain(root);
  });
});
