// channel-rollout.test.ts: tests that servers report the state of a release, and that a promotion stops if too few are
// ready.

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { currentName, DataFolderLocked, lockDataFolder, writeReport } from "@inkling/release-store";
import { openStore, rolloutSlot } from "@inkling/release-store/channel";
import { SQL } from "bun";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { freePort } from "../../harness/ports.ts";
import { Postgres } from "../../harness/postgres.ts";
import { smallRelease } from "../../harness/release.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";

const BIN = resolve(import.meta.dir, "../../../packages/cli/bin/inkling.mjs");
const temp = temporaryFolder();
const { INKLING_MIRROR: _, ...env } = process.env;
const servers: Bun.Subprocess[] = [];
let postgres: Postgres | undefined;
afterAll(async () => {
  for (const child of servers) child.kill("SIGKILL");
  await Promise.all(servers.map(({ exited }) => exited));
  await postgres?.close();
});

/** Returns a server id whose roll-out slot is between these limits. */
function idIn(from: number, to: number): string {
  for (;;) {
    const id = crypto.randomUUID();
    if (rolloutSlot(id) >= from && rolloutSlot(id) < to) return id;
  }
}

/** A builder and servers with known roll-out slots on one channel. */
class Group {
  readonly folder: string;
  readonly store: string;
  private readonly builder: string;
  private settings: Record<string, string>;
  private releases = 0;

  constructor(name: string, settings: Record<string, string>) {
    this.folder = join(temp, name);
    this.store = join(this.folder, "store");
    this.builder = join(this.folder, "builder");
    this.settings = { INKLING_CHANNEL: this.store, ...settings };
    mkdirSync(this.folder);
  }

  async init(): Promise<void> {
    const keys = JSON.parse((await this.run("channel", "init", "key.pem", "--json")).out);
    this.settings = {
      ...this.settings,
      INKLING_CHANNEL_KEY: keys.public_key,
      INKLING_CHANNEL_SIGNING_KEY: keys.private_key_file,
    };
  }

  run(...args: string[]) {
    return runHere(args, { env: this.settings, cwd: this.folder });
  }

  channel(...args: string[]) {
    return this.run("channel", ...args, "--data-dir", this.builder);
  }

  /** Runs `channel promote --watch` with a signal that stops it. */
  watch(signal: AbortSignal) {
    const args = ["channel", "promote", "--watch", "60", "--data-dir", this.builder];
    return runHere(args, { env: this.settings, cwd: this.folder, signal });
  }

  /** Writes a report beside the channel for a server that has taken this release. */
  async report(release: string, [from, to]: readonly [number, number]): Promise<void> {
    const server_id = idIn(from, to);
    const at = new Date().toISOString();
    const report = {
      ...{ server_id, name: server_id.slice(0, 8), version: "0.1.0", at, ready: true, reasons: [] },
      ...{ warnings: [], release: { name: release, created_at: at }, pinned: false, refused: null },
      channel: { name: "stable", version: 1, release, fault: null },
      ...{ requests_per_second: 0, clock_offset_seconds: null },
    };
    await writeReport(openStore(this.store, {})!, "stable", report, new AbortController().signal);
  }

  async publish(...args: string[]): Promise<string> {
    smallRelease(this.builder, ++this.releases);
    expect(await this.channel("publish", ...args)).toMatchObject({ code: 0 });
    return currentName(this.builder)!;
  }

  async status() {
    return JSON.parse((await this.channel("status", "--json")).out);
  }

  /** @param slots the limits of its roll-out slot */
  async start(name: string, [from, to]: readonly [number, number]) {
    const dataDir = join(this.folder, name);
    mkdirSync(dataDir);
    const id = idIn(from, to);
    writeFileSync(join(dataDir, "server-id"), `${id}\n`);
    const port = freePort();
    const log = join(this.folder, `${name}.log`);
    const child = Bun.spawn(
      [
        ...["node", BIN, "serve", "--workers", "1", "--data-dir", dataDir],
        ...["--port", String(port), "--admin-port", String(freePort())],
      ],
      {
        cwd: temp,
        env: { ...env, ...this.settings },
        stdin: "ignore",
        stdout: "ignore",
        stderr: Bun.file(log),
      },
    );
    servers.push(child);
    await until(() =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return { id, dataDir, child, name: `${hostname()}:${port}`, log: () => readFileSync(log, "utf8") };
  }
}

/** Takes the lock of a data folder as a build does, between two checks of the server that uses the folder. */
async function holdDataFolder(dataDir: string): Promise<() => void> {
  let unlock: (() => void) | undefined;
  await until(() => {
    try {
      unlock = lockDataFolder(dataDir);
    } catch (error) {
      if (!(error instanceof DataFolderLocked)) throw error;
    }
    return unlock !== undefined;
  });
  return unlock!;
}

const isBusy = async (group: Group) =>
  JSON.stringify((await group.status()).servers).includes("channel: busy");

const counts = ({ servers }: { servers: Record<string, unknown> }) =>
  Object.fromEntries(
    Object.entries(servers).flatMap(([state, found]) =>
      Array.isArray(found) ? [[state, found.length]] : [],
    ),
  );

test.concurrent("reports in the folder of the channel: a promotion stops, and is forced", async () => {
  const group = new Group("forced", {});
  await group.init();
  const first = await group.publish();
  const [one, two] = await Promise.all([group.start("one", [0, 10]), group.start("two", [10, 50])]);
  await until(async () => (await group.status()).servers.ready.length === 2);

  // Locks the data folder as a build does, so the server cannot take the release.
  const unlock = await holdDataFolder(one.dataDir);
  const second = await group.publish("--percent", "10");
  await until(() => isBusy(group));
  const before = readFileSync(join(group.store, "channels/stable.json"), "utf8");
  const halted = await group.channel("promote", "--percent", "50");
  expect(halted).toMatchObject({ code: 1, out: "" });
  expect(halted.err).toContain(
    `halted, ${second} remains at 10 %: 0 of 1 servers in the roll-out report the release ready\n  ${one.name}: does not follow the channel: busy`,
  );
  const again = await group.channel("publish", "--percent", "50");
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining("halted") });
  expect(readFileSync(join(group.store, "channels/stable.json"), "utf8")).toBe(before);
  expect(currentName(two.dataDir)).toBe(first);

  expect(await group.channel("promote", "--percent", "50", "--force")).toMatchObject({ code: 0 });
  unlock();
  await until(async () => Bun.deepEquals(counts(await group.status()), { ready: 2, failed: 0, waiting: 0 }));
  expect(currentName(two.dataDir)).toBe(second);
});

test.concurrent("reports in the folder of the channel: a promotion goes back by itself, and is finished", async () => {
  const group = new Group("back", {});
  await group.init();
  const first = await group.publish();
  const second = await group.publish("--percent", "50");
  const [one, two, three] = await Promise.all([
    group.start("one", [0, 10]),
    group.start("two", [10, 50]),
    group.start("three", [50, 100]),
  ]);
  const reports = join(group.store, "reports/stable");
  await until(() => {
    const report = join(reports, `${three.id}.json`);
    return existsSync(report) && JSON.parse(readFileSync(report, "utf8")).release?.name === first;
  });
  await until(async () => Bun.deepEquals(counts(await group.status()), { ready: 2, failed: 0, waiting: 0 }));

  const unlock = await holdDataFolder(three.dataDir);
  const back = await group.channel("promote", "--watch", "10");
  expect(back.err).toContain(`went back to 50 % (version ${(await group.status()).version}): 2 of 3 servers`);
  expect(back.err).toContain(`\n  ${three.name}: does not follow the channel: busy`);
  expect(back.code).toBe(1);
  expect((await group.status()).percent).toBe(50);
  unlock();
  const done = await group.channel("promote", "--watch", "100", "--json");
  expect(done).toMatchObject({ code: 0 });
  expect(counts(JSON.parse(done.out))).toEqual({ ready: 3, failed: 0, waiting: 0 });
  expect(currentName(three.dataDir)).toBe(second);
  expect(await group.channel("promote", "--watch", "soon")).toMatchObject({ code: 2 });

  expect(readdirSync(reports).sort()).toEqual([one, two, three].map(({ id }) => `${id}.json`).sort());
  one.child.kill("SIGTERM");
  await one.child.exited;
  expect(existsSync(join(reports, `${one.id}.json`))).toBe(false);
  expect(counts(await group.status())).toEqual({ ready: 2, failed: 0, waiting: 0 });
});

test.concurrent("a share that no server is in: a promotion stops, and names the share that the first server needs", async () => {
  const group = new Group("untried", {});
  await group.init();
  const first = await group.publish();
  const second = await group.publish("--percent", "10");
  await group.report(first, [20, 40]);
  await group.report(first, [60, 100]);
  const { next } = (await group.status()).servers;
  expect([next > 20, next <= 40]).toEqual([true, true]);
  const halted = await group.channel("promote", "--percent", "50");
  expect(halted).toMatchObject({ code: 1, out: "" });
  expect(halted.err).toContain(
    `halted, ${second} remains at 10 %: none of the 2 reporting servers is in this share`,
  );
  expect(halted.err).toContain(`promote stable --percent ${next} --watch`);
  expect(await group.channel("promote", "--percent", `${next}`)).toMatchObject({ code: 0 });
  expect(await group.channel("promote", "--force")).toMatchObject({ code: 0 });
});

test.concurrent("a promotion that is stopped while it waits for reports promotes nothing", async () => {
  const group = new Group("stopped", {});
  await group.init();
  const first = await group.publish();
  const second = await group.publish("--percent", "10");
  for (let n = 0; n < 10; n++) await group.report(n === 0 ? first : second, [0, 10]);
  // enough are ready, and one is still waiting
  expect(counts(await group.status())).toEqual({ ready: 9, failed: 0, waiting: 1 });
  const statement = () => readFileSync(join(group.store, "channels/stable.json"), "utf8");
  const lock = join(group.store, "publishing.json");
  const before = statement();
  const stopper = new AbortController();
  const promoting = group.watch(stopper.signal);
  await until(() => existsSync(lock));
  await Bun.sleep(500); // after the wait for other publishers
  stopper.abort("SIGINT");
  expect(await promoting).toEqual({ code: 130, out: "", err: "inkling: stopped: nothing was promoted\n" });
  expect([statement(), existsSync(lock)]).toEqual([before, false]);
});

test.concurrent("reports in PostgreSQL: the same, and none in the folder", async () => {
  postgres = await Postgres.create();
  const url = await postgres.freshDatabase();
  const group = new Group("postgres", { INKLING_DATABASE_URL: url });
  await group.init();
  await group.publish();
  const one = await group.start("one", [0, 10]);
  await until(async () => (await group.status()).servers.ready.length === 1);
  const unlock = await holdDataFolder(one.dataDir);
  await group.publish("--percent", "10");
  await until(() => isBusy(group));
  expect(await group.channel("promote")).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${one.name}: does not follow the channel: busy`),
  });
  unlock();
  // The command waits until the server has the release, which takes longer than one check.
  expect(await group.channel("promote", "--watch", "100")).toMatchObject({ code: 0 });
  expect(existsSync(join(group.store, "reports"))).toBe(false);
  // A killed server leaves its row, and counts as silent after a few seconds.
  await using sql = new SQL(url, { max: 1 });
  await sql`INSERT INTO inkling_hosts (id, run, sequence, contact_at, late_at, late_since, report)
    SELECT 'killed', run, 1, contact_at - 32000, 0, 0, REPLACE(report, ${one.id}, ${crypto.randomUUID()}) FROM inkling_hosts`;
  expect(counts(await group.status())).toEqual({ ready: 1, failed: 1, waiting: 0 });
  await postgres.stop();
  const lost = await group.channel("promote", "--percent", "100");
  expect(lost).toMatchObject({ code: 0 }); // no more servers than before get it, so no report is read
  const status = await group.channel("status", "--json");
  expect(status.err).toContain("cannot read the servers' reports");
  expect(JSON.parse(status.out)).toMatchObject({ servers: null, percent: 100 });
  const unasked = await group.channel("promote", "--percent", "40");
  expect(unasked).toMatchObject({
    code: 1,
    err: expect.stringMatching(/some servers return to the previous release\n.*--yes/),
  });
  const lowered = await group.channel("promote", "--percent", "40", "--yes");
  expect(lowered).toMatchObject({ code: 0, err: expect.stringContaining("The share was 100 %") });
  const raised = await group.channel("promote", "--percent", "50");
  expect(raised.code).toBe(1);
  expect(raised.err).toMatch(/cannot read the servers' reports: .*\nhint: .*--force/s);
  expect(await group.channel("promote", "--percent", "50", "--force")).toMatchObject({ code: 0 });
});

test.concurrent("a server that may not write to the store goes on, and logs that once", async () => {
  const group = new Group("denied", {});
  await group.init();
  await group.publish();
  // A file instead of the folder.
  writeFileSync(join(group.store, "reports"), "");
  const one = await group.start("one", [0, 10]);
  await until(() => one.log().includes("channel-not-reported"));
  const second = await group.publish("--percent", "10");
  await until(() => currentName(one.dataDir) === second);
  rmSync(join(group.store, "reports"));
  const promoted = await group.channel("promote");
  expect(promoted).toMatchObject({
    code: 0,
    err: expect.stringContaining("no server in the roll-out sends reports"),
  });
  expect(one.log().match(/channel-not-reported/g)).toHaveLength(1);
});
