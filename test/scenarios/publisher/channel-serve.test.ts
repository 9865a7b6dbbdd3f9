// Tests a builder and servers of one channel, as processes from the command line.

import { beforeAll, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { currentName, DATA_FOLDER, sha256Hex, writeChannelReport } from "@inkling/data";
import { openStore, readPrivateKey, writeBuildResult } from "@inkling/data/channel";
import { releaseName } from "@inkling/engine";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { seal } from "../../../packages/data/src/channel/envelope.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { inkling, LAUNCHER, Program } from "../../harness/inkling.ts";
import { freePort } from "../../harness/ports.ts";
import { withPrograms } from "../../harness/programs.ts";
import { LISTS_ALONE, SMALL_NETWORK, smallCity, smallRelease } from "../../harness/release.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";

const BIN = resolve(import.meta.dir, "../../../packages/cli/bin/inkling.mjs");
const temp = temporaryFolder();
const builder = join(temp, "builder");
const store = join(temp, "store");
const statement = join(store, "channels/stable.json");
const { INKLING_MIRROR: _, ...env } = process.env;
let settings: Record<string, string> = {};
const servers: Server[] = [];

const run = (...args: string[]) => inkling(args, { cwd: temp, env: { ...env, ...settings } });

async function publish(n: number, ...args: string[]): Promise<string> {
  smallRelease(builder, n);
  const { code, err } = await run("channel", "publish", "--data-dir", builder, ...args);
  expect({ code, err }).toMatchObject({ code: 0 });
  return currentName(builder)!;
}

const KEY = { live: "" };

class Server extends Program {
  readonly dataDir: string;
  readonly port: number;
  readonly adminPort: number;

  constructor(name: string) {
    const dataDir = join(temp, name);
    const [port, adminPort] = [freePort(), freePort()];
    super(
      [
        ...[...LAUNCHER, "serve", "--workers", "2", "--data-dir", dataDir],
        ...["--port", String(port), "--admin-port", String(adminPort)],
      ],
      { cwd: temp, env: { ...env, ...settings, INKLING_API_KEY: KEY.live } },
    );
    this.dataDir = dataDir;
    this.port = port;
    this.adminPort = adminPort;
  }
}

async function startServer(name: string): Promise<Server> {
  const server = new Server(name);
  servers.push(server);
  await server.until("it was ready", () =>
    fetch(`http://127.0.0.1:${server.port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return server;
}

const city = async ({ port }: Server) => {
  const address = SMALL_NETWORK.replace("0/24", "1");
  const response = await fetch(`http://127.0.0.1:${port}/v1/ip-intel/geolocate/${address}`, {
    headers: { Authorization: `Bearer ${KEY.live}` },
  });
  return ((await response.json()) as { city?: { name?: string } }).city?.name;
};

const metrics = async ({ adminPort }: Server) =>
  (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();

beforeAll(async () => {
  const made = await run("keys", "create", "--name", "test", "--data-dir", join(temp, "keys"));
  KEY.live = /ink_live_\w+/.exec(made.out)![0];
  const keys = JSON.parse((await run("channel", "init", "key.pem", "--json")).out);
  settings = {
    INKLING_CHANNEL: store,
    INKLING_CHANNEL_KEY: keys.public_key,
    INKLING_CHANNEL_SIGNING_KEY: keys.private_key_file,
  };
  await publish(1);
  await Promise.all(["one", "two"].map(startServer));
}, 120_000);

describe("two servers of a channel", () => {
  test("start from nothing but the channel", async () => {
    for (const server of servers) expect(await city(server)).toBe(smallCity(1));
  });

  test("take a release, go back and go forward", async () => {
    const second = await publish(2);
    for (const server of servers) await until(async () => (await city(server)) === smallCity(2));
    expect((await run("channel", "rollback")).code).toBe(0);
    for (const server of servers) await until(async () => (await city(server)) === smallCity(1));
    const back = readFileSync(statement, "utf8");
    expect(await run("channel", "publish", "--data-dir", builder)).toMatchObject({
      code: 1,
      err: expect.stringMatching(new RegExp(`${second} was rolled back.*\n.*--force`)),
    });
    const again = await run("channel", "publish", "--data-dir", builder, "--again");
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining(`rolled back: ${second}`) });
    expect(again.err).toContain("sending segments/");
    for (const other of [["--to", "beta"], ["--force"], [second]])
      expect((await run("channel", "publish", "--again", ...other)).code).toBe(2);
    expect(readFileSync(statement, "utf8")).toBe(back);
    for (const server of servers) expect(await city(server)).toBe(smallCity(1));
    expect((await run("channel", "rollback", second)).code).toBe(0);
    for (const server of servers) await until(async () => (await city(server)) === smallCity(2));
  });

  test("the newest ruleset of the builder's database goes with the channel", async () => {
    const rules = join(temp, "rules.toml");
    writeFileSync(rules, "[weights]\nproxy = 0.5\n");
    expect((await run("rules", "publish", rules, "--yes", "--data-dir", builder)).code).toBe(0);
    const found = await run("channel", "publish", "--data-dir", builder, "--json");
    const { ruleset } = JSON.parse(found.out) as { ruleset: { number: number; sha256: string } };
    expect(ruleset.number).toBe(1);
    expect((await run("channel", "status")).out).toContain("ruleset 1, for @inkling/local");
    expect(readFileSync(join(store, `rulesets/${ruleset.sha256}.toml`), "utf8")).toBe(
      readFileSync(rules, "utf8"),
    );
  });

  test("go on with what they have when the channel is forged, and report it", async () => {
    const good = join(temp, "good.json");
    copyFileSync(statement, good);
    const envelope = JSON.parse(readFileSync(good, "utf8"));
    envelope.payload = Buffer.from(
      Buffer.from(envelope.payload, "base64").toString().replace('"version":1', '"version":2'),
    ).toString("base64");
    writeFileSync(statement, JSON.stringify(envelope));
    for (const server of servers) {
      await until(async () =>
        (await metrics(server)).includes('inkling_channel_refused{fault="other-key"} 1'),
      );
      const ready = await fetch(`http://127.0.0.1:${server.port}/readyz`);
      expect(ready.status).toBe(200);
      expect(await ready.text()).toContain("the server does not follow the channel stable: other-key");
      expect(await city(server)).toBe(smallCity(2));
    }
    copyFileSync(good, statement);
    for (const server of servers) {
      await until(async () => !(await metrics(server)).includes("inkling_channel_refused{"));
      expect(server.err).toContain('"event":"channel-back"');
    }
    expect((await run("channel", "status", "--data-dir", servers[0]!.dataDir)).code).toBe(0);
  });
});

withPrograms("nginx serves a builder's folder, as docs/several-hosts.md says", ["nginx"], true, async () => {
  const page = readFileSync(resolve(import.meta.dir, "../../../docs/several-hosts.md"), "utf8");
  const [, config = ""] = /inkling-channel\.conf <<'END'\n([\s\S]*?)^END$/m.exec(page)!;
  const folder = temporaryFolder();
  const origin = `127.0.0.1:${freePort()}`;
  const [conf, pid] = [join(folder, "nginx.conf"), join(folder, "pid")];
  const serveTo = async (servers: string) => {
    const site = config
      .replace("10.0.0.10:8090", origin)
      .replace("/mnt/releases", store)
      .replace("10.0.0.0/24", servers);
    writeFileSync(
      conf,
      `pid ${pid}; daemon off; master_process off; events {} http { access_log off; ${site} }`,
    );
    const nginx = new Program(["nginx", "-e", "stderr", "-c", conf]);
    await nginx.until("nginx answered", () =>
      fetch(`http://${origin}/`).then(
        () => true,
        () => false,
      ),
    );
    return nginx;
  };
  const inFolder = settings;
  const channel = `http://${origin}/inkling`;
  let nginx = await serveTo("127.0.0.1");
  try {
    settings = { ...inFolder, INKLING_CHANNEL: channel };
    const follower = await startServer("behind-nginx");
    expect(await city(follower)).toBe(await city(servers[0]!));
    await follower.stop();
    servers.pop();
    await nginx.stop();
    nginx = await serveTo("192.0.2.1"); // no server's address
    expect(await run("channel", "status")).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${channel} returned 403`),
    });
  } finally {
    settings = inFolder;
    await nginx.stop();
  }
});

test.each([
  ["of the release in use, with two segments swapped", true],
  ["of a new release without segments", false],
] as const)("a signed manifest %s changes nothing, also at a restart", async (_, isInUse) => {
  const server = servers[1]!;
  const wanted = await city(server);
  const good = readFileSync(statement, "utf8");
  const stated = JSON.parse(Buffer.from(JSON.parse(good).payload, "base64").toString());
  const path = join(store, `releases/${stated.release.name}.json`);
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  const { geo, reputation, ...others } = manifest.segments;
  const unsound = isInUse
    ? { ...manifest, segments: { geo: reputation, reputation: geo, ...others } }
    : { ...manifest, segments: {}, created_at: "2026-05-01T00:00:00.000Z" };
  const text = JSON.stringify(unsound);
  const release = { name: releaseName(unsound), sha256: sha256Hex(text) };
  const key = readPrivateKey(readFileSync(settings.INKLING_CHANNEL_SIGNING_KEY!, "utf8"));
  const sign = (version: number, ref: object) =>
    writeFileSync(statement, seal(JSON.stringify({ ...stated, version, release: ref }), key));
  const sound = readFileSync(path);
  writeFileSync(join(store, `releases/${release.name}.json`), text);
  sign(stated.version + 1, release);
  const isRefused = async (one: Server) =>
    (await metrics(one)).includes('inkling_channel_refused{fault="unsound"} 1');
  await until(() => isRefused(server));
  expect(server.err).toMatch(/"event":"channel-refused".*"fault":"unsound".*its content has the id/);
  expect(await city(server)).toBe(wanted);
  expect(currentName(server.dataDir)).toBe(stated.release.name);
  server.child.kill("SIGTERM");
  await server.child.exited;
  servers[1] = await startServer("two");
  servers.pop();
  await until(() => isRefused(servers[1]!));
  expect(await city(servers[1]!)).toBe(wanted);
  writeFileSync(path, sound);
  sign(stated.version + 2, stated.release);
  await until(async () => !(await metrics(servers[1]!)).includes("inkling_channel_refused{"));
});

test("a server reports that the builder's latest build failed", async () => {
  const privateKey = readPrivateKey(readFileSync(settings.INKLING_CHANNEL_SIGNING_KEY!, "utf8"));
  const write = async (failed: string | undefined) => {
    const at = new Date().toISOString();
    const next_at = new Date(Date.now() + 60_000).toISOString();
    const result = { at, next_at, failed: failed === undefined ? null : { at, why: failed } };
    await writeBuildResult(openStore(store, {})!, "stable", privateKey, result, new AbortController().signal);
  };
  const failed = async (server: Server) => {
    await until(async () => (await metrics(server)).includes("inkling_channel_version"));
    return /^inkling_build_failed (\d)$/m.exec(await metrics(server))?.[1];
  };
  await write("the disk is full");
  const server = await startServer("three");
  await until(async () => (await failed(server)) === "1");
  const { out } = await run("doctor", "--data-dir", server.dataDir);
  expect(out).toMatch(/^problem {2}data: the latest build failed .*: on the builder: the disk is full$/m);
  server.child.kill("SIGTERM");
  await server.child.exited;
  await write(undefined);
  const again = await startServer("three");
  await until(async () => (await failed(again)) === "0");
});

test("a server that follows no channel any more reports none", async () => {
  const [{ child, dataDir }] = servers as [Server];
  child.kill("SIGTERM");
  await child.exited;
  const report = JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.channelReport), "utf8"));
  const fault = { kind: "unreachable", reason: "gone", since: report.followed_at };
  writeFileSync(join(dataDir, DATA_FOLDER.channelReport), JSON.stringify({ ...report, fault }));
  const before = settings;
  settings = { INKLING_OFFLINE: "1" };
  const server = await startServer("one").finally(() => {
    settings = before;
  });
  expect(await city(server)).toBe(smallCity(2));
  expect(await metrics(server)).not.toMatch(/^inkling_channel_/m);
  expect(await (await fetch(`http://127.0.0.1:${server.port}/readyz`)).text()).not.toContain(
    "does not follow the channel",
  );
});

/** Writes the report of a server that followed a channel with this data folder and then failed. */
function leaveReport(dataDir: string): string {
  const since = "2026-11-01T00:00:00.000Z";
  const none = { followed_at: null, version: null, release: null, expires_at: null };
  const fault = { kind: "unreachable", reason: "gone", since } as const;
  writeChannelReport(dataDir, { channel: "stable", ...none, fault });
  return join(dataDir, DATA_FOLDER.channelReport);
}

describe("the command line", () => {
  test("deletes the report of a former follower when its host publishes", async () => {
    const report = leaveReport(builder);
    const channel = async () => {
      const { out } = await run("doctor", "--json", "--data-dir", builder);
      return JSON.parse(out).checks.find(({ check }: { check: string }) => check === "channel").state;
    };
    expect(await channel()).toBe("problem");
    expect((await run("channel", "publish", "--data-dir", builder)).code).toBe(0);
    expect([existsSync(report), await channel()]).toEqual([false, "ok"]);
  });

  test("publishes to one channel what another one has", async () => {
    const { name } = JSON.parse((await run("channel", "status", "--json")).out).release;
    const to = (...args: string[]) => run("channel", "publish", "--data-dir", join(temp, "no-data"), ...args);
    const copied = JSON.parse((await to("--to", "beta", "--json")).out);
    expect(copied).toMatchObject({ channel: "beta", release: { name } });
    const status = await run("channel", "status", "--channel", `${store}#beta`);
    expect(status.out).toContain("servers: not shown, because");
    expect(status).toMatchObject({
      code: 0,
      out: expect.stringContaining(`Channel beta, version ${copied.version}`),
    });
    expect(await to("--to", "stable")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--to must not be stable"),
    });
    expect(await to("--to", "No#Name")).toMatchObject({
      code: 2,
      err: expect.stringContaining("channel name"),
    });
    expect(await to("--to", "beta", name)).toMatchObject({
      code: 2,
      err: expect.stringContaining("--to cannot"),
    });
    expect(await to("--to", "beta", "--channel", `${store}#gamma`)).toMatchObject({
      code: 1,
      err: expect.stringContaining("there is no channel gamma"),
    });
  });

  test("names the place where there is no channel", async () => {
    expect(await run("channel", "status", "--channel", join(temp, "no-channel"))).toMatchObject({
      code: 1,
      err: expect.stringContaining(`there is no channel stable in ${join(temp, "no-channel")}\n`),
    });
  });

  test("publishes also when nobody reads its progress, and leaves no lock", async () => {
    const publication = join(temp, "unread");
    smallRelease(builder, 11);
    const name = currentName(builder)!;
    // `true` exits at once, so each write to standard error fails.
    const command = `node '${BIN}' channel publish --data-dir '${builder}' --channel '${publication}'`;
    const child = Bun.spawn(["sh", "-c", `{ ${command} > out.json --json; echo $? > code; } 2>&1 | true`], {
      cwd: temp,
      env: { ...env, ...settings },
      stdio: ["ignore", "ignore", "ignore"],
    });
    await child.exited;
    await until(() => existsSync(join(temp, "code")) && readFileSync(join(temp, "code"), "utf8") !== "");
    expect(readFileSync(join(temp, "code"), "utf8")).toBe("0\n");
    expect(JSON.parse(readFileSync(join(temp, "out.json"), "utf8")).release.name).toBe(name);
    expect(existsSync(join(publication, "channels/stable.json"))).toBe(true);
    expect(readdirSync(join(publication, "channels"))).toEqual(["stable.json"]);
  });

  test("explains what is missing", async () => {
    const { INKLING_CHANNEL_SIGNING_KEY: __, ...others } = settings;
    const before = settings;
    try {
      settings = others;
      expect(await run("channel", "publish", "--data-dir", builder)).toMatchObject({
        code: 2,
        err: expect.stringContaining("INKLING_CHANNEL_SIGNING_KEY"),
      });
      settings = { INKLING_CHANNEL: store };
      expect(await run("serve", "--data-dir", join(temp, "three"))).toMatchObject({
        code: 2,
        err: expect.stringContaining("INKLING_CHANNEL_KEY"),
      });
      // With and without a release: the server does not continue with old data.
      const { INKLING_CHANNEL_KEY } = before;
      settings = { INKLING_CHANNEL: "s3://bucket/releases", INKLING_CHANNEL_KEY: INKLING_CHANNEL_KEY! };
      for (const name of ["builder", "three"]) {
        expect(await run("serve", "--data-dir", join(temp, name))).toMatchObject({
          code: 1,
          err: expect.stringContaining("needs credentials"),
        });
      }
      settings = {};
      expect(await run("channel", "status")).toMatchObject({
        code: 2,
        err: expect.stringContaining("no channel is set"),
      });
    } finally {
      settings = before;
    }
    expect(await run("channel", "init", "key.pem")).toMatchObject({
      code: 1,
      err: expect.stringContaining("already exists"),
    });
    expect(await run("up")).toMatchObject({ code: 2, err: expect.stringContaining("serve") });
  });

  test("a builder that could not read its key publishes once it can", async () => {
    const key = settings.INKLING_CHANNEL_SIGNING_KEY!;
    const log = join(temp, "builder.log");
    const nothing = join(temp, "nothing");
    mkdirSync(nothing);
    // Without the large seeds, its own builds are quick.
    writeFeedChoice(builder, LISTS_ALONE);
    smallRelease(builder, 9);
    const report = leaveReport(builder);
    const child = Bun.spawn(["node", BIN, "build", "--publish", "--data-dir", builder], {
      cwd: temp,
      env: { ...env, ...settings, INKLING_MIRROR: nothing, INKLING_CHANNEL: join(temp, "other") },
      stdio: ["ignore", "ignore", Bun.file(log)],
    });
    try {
      await until(() => readFileSync(log, "utf8").includes("channel-published"));
      expect(existsSync(report)).toBe(false);
      renameSync(key, `${key}.away`);
      smallRelease(builder, 10);
      await until(() =>
        /channel-not-published.*does not contain a private key/.test(readFileSync(log, "utf8")),
      );
      renameSync(`${key}.away`, key);
      await until(() => readFileSync(log, "utf8").includes(currentName(builder)!));
      // The mirror is empty, so the builder's own build may fail. Either way, it publishes the result.
      await until(() => existsSync(join(temp, "other/builds/stable.json")));
    } finally {
      child.kill();
    }
    expect(await child.exited).toBe(0);
  });

  test("a builder without a variable of its bucket says so, and keeps building", async () => {
    const log = join(temp, "bucket.log");
    const child = Bun.spawn(["node", BIN, "build", "--publish", "--data-dir", builder], {
      cwd: temp,
      env: {
        ...{ ...env, ...settings, AWS_SECRET_ACCESS_KEY: "x" },
        ...{ INKLING_MIRROR: join(temp, "nothing"), INKLING_CHANNEL: "s3://bucket/releases" },
      },
      stdio: ["ignore", "ignore", Bun.file(log)],
    });
    const logged = () => readFileSync(log, "utf8");
    try {
      await until(() => logged().includes('"event":"channel-not-published"') || child.exitCode !== null);
      await until(() => logged().includes("the build's result was not published") || child.exitCode !== null);
      const why = "s3://bucket/releases needs credentials";
      expect(logged()).toMatch(new RegExp(`"channel-not-published".*${why}.*set AWS_ACCESS_KEY_ID`));
      expect(logged()).toContain(`the build's result was not published: ${why}`);
    } finally {
      child.kill();
    }
    expect(await child.exited).toBe(0);
  });
});
