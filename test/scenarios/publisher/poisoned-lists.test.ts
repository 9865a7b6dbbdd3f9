// Tests publishers as adversaries, with lists that claim a large part of the internet. The served data does not change,
// the reason is visible, and if a release would flag too much, its new copies are held.

import { beforeEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, openRelease, requireCurrent } from "@inkling/data";
import { feedsReport, IpAddress, type UnwrappedAddress } from "@inkling/engine";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { type Build, build } from "../../../packages/compiler/src/pipeline/build.ts";
import { randomWords } from "../../harness/random.ts";
import { drilled } from "../../harness/recorded-rows.ts";
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

test("29.9% more entries of /10 in one list and 39% of /14 in another are held", async () => {
  const [drops, vpns] = [linesOf(DROP), linesOf(VPN)];
  writeDrop(drops, NOW - DAY_MS);
  const first = await round();
  expect(first).toMatchObject({ published: true, held: [] }); // the unchanged lists pass all gates
  const before = flaggedShare();
  expect(before).toBeLessThan(0.01);

  writeDrop([...drops, ...networks(10, Math.floor(drops.length * 0.299)).map(drop)], NOW);
  writeFileSync(path(VPN), `${[...vpns, ...networks(14, Math.floor(vpns.length * 0.39))].join("\n")}\n`);
  const second = await round();
  const after = flaggedShare();
  expect(after).toBe(before);
  expect(second).toMatchObject({ published: false, name: first.name, held: [VPN, DROP] });
  expect(shown(DROP).error).toMatch(/has a network of \/10 \(IPv4\): \/11 is the widest allowed/);
  expect(shown(VPN).error).toMatch(/has a network of \/14 \(IPv4\): \/15 is the widest allowed/);
  drilled(
    import.meta.path,
    "lists claim large parts of the internet",
    "the same flags as before",
    "the copies of before; the new copies are held until an operator accepts them",
  );
});

test("as many entries of a width that the lists may hold are held: they cover too much", async () => {
  const [drops, vpns] = [linesOf(DROP), linesOf(VPN)];
  writeDrop(drops, NOW - DAY_MS);
  await round();
  const before = flaggedShare();
  writeDrop([...drops, ...networks(12, Math.floor(drops.length * 0.299)).map(drop)], NOW);
  writeFileSync(path(VPN), `${[...vpns, ...networks(16, Math.floor(vpns.length * 0.39))].join("\n")}\n`);
  await round();
  expect(flaggedShare()).toBe(before);
  for (const id of [DROP, VPN]) {
    expect(shown(id).held?.why).toMatch(
      /^differs too much from the last good copy in address space: \d+ IPv4 addresses added/,
    );
    expect(shown(id)).toMatchObject({ state: "loaded", source: "last-good" });
  }
});

/** Networks of /11 that cover more than a flag may. */
const TOO_MANY = networks(11, 60).map(drop);
const CHECK =
  /^the release fails its check: is_abuser: .+% of public IPv4 would be flagged, but at most 2\.0% /;

test("a first release that would flag too much is published without the new lists, which can be accepted", async () => {
  writeDrop([...linesOf(DROP), ...TOO_MANY], NOW);
  const first = await round();
  expect(first.published).toBe(true);
  expect(first.held).toContain(DROP);
  expect(first.release.missing).toContain("is_abuser");
  // The operator can see which lists are held, and why.
  expect(shown(DROP)).toMatchObject({
    state: "missing",
    entries: 0,
    held: { why: expect.stringMatching(CHECK) },
  });
  expect(shown(DROP).held!.why).toContain(`${DROP} covers`);
  expect(flaggedShare()).toBeLessThan(0.001);
  const status = await inkling("data", "status");
  expect(status).toContain(`held`);
  expect(status).toContain("Held: ");
  const all = await round(["release"]);
  expect(all).toMatchObject({ published: true, held: [] });
  expect(all.release.missing).not.toContain("is_abuser");
  expect(flaggedShare()).toBeGreaterThan(0.02);
  // The next build has the same content, and is not checked again.
  expect(await round()).toMatchObject({ published: false, held: [] });
});

test("a list that grows day by day, each time within its limit, is held once the release would flag too much", async () => {
  // A quarter of the list's space must be more than one network, so that the list grows by about a quarter every day.
  let added = 60;
  let rows = [...linesOf(DROP), ...networks(14, added).map(drop)];
  const vpns = linesOf(VPN);
  /** Another list gets a network every day. */
  const writeVpn = (day: number) =>
    writeFileSync(path(VPN), `${[...vpns, ...networks(24, day)].join("\n")}\n`);
  writeDrop(rows, NOW - 30 * DAY_MS);
  let good = await round();
  let last = rows;
  let days = 0;
  for (; good.held.length === 0; days++) {
    expect(days).toBeLessThan(20);
    const more = networks(14, Math.floor((shown(DROP).space!.v4 * 0.25) / 2 ** 18), added);
    expect(more.length).toBeGreaterThan(0);
    added += more.length;
    last = rows;
    rows = [...rows, ...more.map(drop)];
    writeDrop(rows, NOW - (29 - days) * DAY_MS);
    writeVpn(days + 1);
    const next = await round();
    if (next.held.length === 0) expect([next.published, shown(DROP).error]).toEqual([true, undefined]);
    else expect(next).toMatchObject({ published: false, name: good.name });
    good = next;
  }
  expect(days).toBeGreaterThan(1);
  // All that changed is held together. The reason shows the list that grew.
  expect(good.held).toEqual([VPN, DROP]);
  for (const id of good.held) {
    const { held, error, ...about } = shown(id);
    expect(about).toMatchObject({ state: "loaded", source: "last-good" });
    expect(held!.why).toMatch(CHECK);
    expect(held!.why).toContain(`${DROP} covers`);
    expect(error).toBe(`mirror: ${held!.why}`);
  }
  const before = flaggedShare();
  expect(before).toBeLessThan(0.02);

  // Nothing changes until a better copy arrives. The other list then passes, too.
  expect(await round()).toMatchObject({ published: false, name: good.name, held: [VPN, DROP] });
  const day = (29 - days) * DAY_MS;
  writeDrop([...last, drop("9.9.9.0/24")], NOW - day);
  expect(await round()).toMatchObject({ published: true, held: [] });

  // Or the operator accepts the copy.
  writeDrop(rows, NOW - day + 1_000);
  expect((await round()).held).toEqual([DROP]);
  expect(await inkling("data", "status")).toContain(`\`inkling data update --accept ${DROP}@`);
  expect(await round([DROP])).toMatchObject({ published: true, held: [] });
  expect(shown(DROP).entries).toBe(rows.length);
  expect(flaggedShare()).toBeGreaterThan(before);
});
