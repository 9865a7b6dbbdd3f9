// Tests publishers as adversaries, with lists that claim a large part of the internet. The served data does not change,
// the reason is visible, and a release that flags too much waits for the operator.

import { beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FeedReport, feedsReport, IpAddress, type UnwrappedAddress } from "@inkling/engine";
import {
  DATA_FOLDER,
  findHeld,
  openRelease,
  releaseId,
  requireCurrent,
  writeHeld,
  writeSegmentFile,
} from "@inkling/release-store";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { type Build, build } from "../../../packages/compiler/src/pipeline/build.ts";
import { randomWords } from "../../harness/random.ts";
import { freshMirror } from "../../harness/release.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const FEEDS_OF_FLAGS = FEEDS.filter(({ label }) => label !== undefined);
const MAIN = join(import.meta.dir, "../../../packages/cli/src/main.ts");
const SAMPLED = 172_000;
const DAY_MS = 86_400_000;
const NOW = Date.now();

let dataDir: string;
let mirror: string;
beforeEach(() => {
  dataDir = temporaryFolder();
  mirror = freshMirror();
});

const round = (accept: readonly string[] = []): Promise<Build> =>
  build(
    { dataDir, mirror, fetch: false, onlyDue: false, accept, credentials: {} },
    { now: () => new Date(), emit: () => {}, chance: () => 0.5, feeds: FEEDS_OF_FLAGS },
  );

async function inkling(...args: string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, MAIN, ...args, "--data-dir", dataDir], {
    stdout: "pipe",
    stderr: "inherit",
  });
  return new Response(child.stdout).text();
}

/** Returns a failing command's standard error. */
async function failure(...args: string[]): Promise<string> {
  const command = [process.execPath, MAIN, ...args, "--data-dir", dataDir];
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe" });
  expect(await child.exited).toBe(1);
  return new Response(child.stderr).text();
}

/** Returns the share of random IPv4 addresses that the served release flags. */
function flaggedShare(): number {
  const { reputation } = openRelease(dataDir, requireCurrent(dataDir).name);
  const next = randomWords(172);
  const address = new IpAddress();
  let flagged = 0;
  for (let i = 0; i < SAMPLED; i++) {
    address.words[0] = next();
    if (Buffer.from(reputation!.lookup(address as UnwrappedAddress)!).includes("true")) flagged++;
  }
  return flagged / SAMPLED;
}

const report = () =>
  feedsReport.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.feedsReport), "utf8")));
const shown = (id: string) => report().feeds.find((feed) => feed.id === id)!;

const DROP = "spamhaus-drop-v4";
const VPN = "x4bnet-vpn-v4";
const path = (id: string) => join(mirror, `${id}.${id === DROP ? "json" : "txt"}`);
const linesOf = (id: string) =>
  readFileSync(path(id), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.includes('"metadata"'));
const writeDrop = (rows: readonly string[], made: number) =>
  writeFileSync(
    path(DROP),
    `${rows.join("\n")}\n${JSON.stringify({ type: "metadata", timestamp: Math.floor(made / 1000), records: rows.length })}\n`,
  );
const drop = (network: string) => JSON.stringify({ cidr: network });
/** Returns different networks of one length, all over the address space except its first and last parts. */
const networks = (bits: number, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => {
    const index = 2 ** bits / 16 + (((i + from) * 7_919) % (2 ** bits * 0.75));
    const first = index * 2 ** (32 - bits);
    return `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) & 255).join(".")}/${bits}`;
  });

test("29.9 % more entries of /10 in one list and 39 % of /14 in another are refused", async () => {
  const [drops, vpns] = [linesOf(DROP), linesOf(VPN)];
  writeDrop(drops, NOW - DAY_MS);
  const first = await round();
  expect(first).toMatchObject({ published: true, refused: [] }); // the unchanged lists pass all gates
  const before = flaggedShare();
  expect(before).toBeLessThan(0.01);

  writeDrop([...drops, ...networks(10, Math.floor(drops.length * 0.299)).map(drop)], NOW);
  writeFileSync(path(VPN), `${[...vpns, ...networks(14, Math.floor(vpns.length * 0.39))].join("\n")}\n`);
  const second = await round();
  const after = flaggedShare();
  expect(after).toBe(before);
  expect(second).toMatchObject({ published: false, name: first.name, refused: [VPN, DROP] });
  expect(shown(DROP).error).toMatch(/has a network of \/10 \(IPv4\): \/11 is the widest allowed/);
  expect(shown(VPN).error).toMatch(/has a network of \/14 \(IPv4\): \/15 is the widest allowed/);
});

test("as many entries of a width that the lists may hold wait: they cover too much", async () => {
  const [drops, vpns] = [linesOf(DROP), linesOf(VPN)];
  writeDrop(drops, NOW - DAY_MS);
  await round();
  const before = flaggedShare();
  writeDrop([...drops, ...networks(12, Math.floor(drops.length * 0.299)).map(drop)], NOW);
  writeFileSync(path(VPN), `${[...vpns, ...networks(16, Math.floor(vpns.length * 0.39))].join("\n")}\n`);
  await round();
  expect(flaggedShare()).toBe(before);
  for (const id of [DROP, VPN]) {
    expect(shown(id).pending?.why).toMatch(
      /^differs too much from the last good copy in address space: \d+ IPv4 addresses added/,
    );
    expect(shown(id)).toMatchObject({ state: "loaded", source: "last-good" });
  }
});

test("a list that is back to normal ends the wait by itself", async () => {
  const rows = linesOf(DROP);
  writeDrop(rows, NOW - DAY_MS);
  const first = await round();
  writeDrop([...rows, ...networks(11, 60).map(drop)], NOW - DAY_MS / 2);
  const held = await round([DROP]);
  expect(held).toMatchObject({ published: false, name: first.name });
  expect(held.held?.why).toMatch(
    /is_abuser: 3\.\d % of public IPv4 would be flagged, but at most 2\.0 % of public IPv4/,
  );
  writeDrop(rows, NOW);
  const back = await round([DROP]);
  expect(back).toMatchObject({ name: back.name, refused: [] });
  expect(back.held).toBeUndefined();
  expect(existsSync(join(dataDir, DATA_FOLDER.heldRelease))).toBe(false);
});

test("a first release that flags too much is not served, and can be accepted", async () => {
  writeDrop([...linesOf(DROP), ...networks(11, 60).map(drop)], NOW);
  await expect(round()).rejects.toThrow(
    /^the first release needs your approval: is_abuser: .*spamhaus-drop-v4 covers/,
  );
  expect(existsSync(join(dataDir, DATA_FOLDER.current))).toBe(false);
  // The operator can see what waits, and which lists it contains.
  const { held, release, feeds } = report();
  expect([release, held?.why]).toEqual([undefined, expect.stringMatching(/^is_abuser: /)]);
  expect(feeds.find(({ id }) => id === DROP)).toMatchObject({ state: "loaded", entries: expect.any(Number) });
  const listed = JSON.parse(await inkling("feeds", "list", "--json")) as {
    id: string;
    report: FeedReport | null;
  }[];
  expect(listed.find(({ id }) => id === DROP)?.report?.state).toBe("loaded");
  expect(await failure("data", "status")).toContain(`needs your approval: ${held!.why}`);
  expect(await round(["release"])).toMatchObject({ published: true });
  expect(flaggedShare()).toBeGreaterThan(0.02);
  expect(report().held).toBeUndefined();
});

test("a release that waits is verified in full before it is published: one with a fault is built again", async () => {
  writeDrop([...linesOf(DROP), ...networks(11, 60).map(drop)], NOW);
  await expect(round()).rejects.toThrow("needs your approval");
  const waiting = findHeld(dataDir)!;
  const unsound = writeSegmentFile(dataDir, [new Uint8Array(100)]); // the hash itself is right
  const reputation = { ...waiting.segments.reputation!, ...unsound };
  const changed = { ...waiting, segments: { ...waiting.segments, reputation } };
  writeHeld(dataDir, { ...changed, id: releaseId(changed) });
  expect(await round(["release"])).toMatchObject({ published: true, release: { id: waiting.id } });
  expect(flaggedShare()).toBeGreaterThan(0.02);
});

test("a list that grows day by day, each time within its limit, makes a release that waits for the operator", async () => {
  // A quarter of the list's space must be more than one network, so that the list grows by about a quarter every day.
  let added = 60;
  let rows = [...linesOf(DROP), ...networks(14, added).map(drop)];
  writeDrop(rows, NOW - 30 * DAY_MS);
  let good = await round();
  let days = 0;
  for (; good.held === undefined; days++) {
    expect(days).toBeLessThan(20);
    const more = networks(14, Math.floor((shown(DROP).space!.v4 * 0.25) / 2 ** 18), added);
    expect(more.length).toBeGreaterThan(0);
    added += more.length;
    rows = [...rows, ...more.map(drop)];
    writeDrop(rows, NOW - (29 - days) * DAY_MS);
    const next = await round();
    expect(shown(DROP).error).toBeUndefined();
    if (next.held === undefined) expect(next.published).toBe(true);
    else expect(next).toMatchObject({ published: false, name: good.name });
    good = next;
  }
  expect(days).toBeGreaterThan(0);
  const { held, name } = good;
  expect(held!.why).toMatch(
    /is_abuser: .+ % of public IPv4 would be flagged, but at most 2\.0 % .*spamhaus-drop-v4 covers/,
  );
  expect(report().held).toEqual(held!);
  expect(requireCurrent(dataDir).name).toBe(name);
  const before = flaggedShare();
  expect(before).toBeLessThan(0.02);

  // While it waits, nothing changes, and its segment is not compiled again.
  const waiting = join(dataDir, DATA_FOLDER.heldRelease);
  const again = await round();
  expect(again).toMatchObject({ published: false, name, held: { id: held!.id } });

  // The operator accepts the build, which becomes the base of the next ones.
  expect(await inkling("data", "status")).toContain(`is not published. ${held!.why}`);
  const accepted = JSON.parse(await inkling("data", "update", "--accept", "release", "--json"));
  expect(accepted).toMatchObject({ published: true, refused: [] });
  expect(accepted.release.id).toBe(held!.id);
  expect(await inkling("data", "status")).not.toContain("Needs your approval");
  expect(existsSync(waiting)).toBe(false);
  expect(report().held).toBeUndefined();
  expect(flaggedShare()).toBeGreaterThan(before);
  expect(await round()).toMatchObject({ published: false, name: accepted.name });
});
