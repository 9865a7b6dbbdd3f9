// Tests what builders publish and servers follow, through each kind of store, with good and bad content.

import { afterAll, beforeAll, describe, expect, jest, spyOn, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { getEventListeners } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import {
  checkFiles,
  currentName,
  pin,
  publish,
  ReleaseError,
  releaseId,
  releaseNames,
  segmentFiles,
  sha256Hex,
  verifyRelease,
} from "@inkling/data";
import {
  ChannelError,
  ChannelFollower,
  type FollowerOptions,
  makeKeyPair,
  type ObjectReader,
  openReader,
  openStore,
  Publisher,
  type PublisherOptions,
  readChannelRuleset,
  readPrivateKey,
  type S3Environment,
  type Statement,
} from "@inkling/data/channel";
import { ANSWERS, type Release, releaseName } from "@inkling/engine";
import { seal } from "../../../packages/data/src/channel/envelope.ts";
import { FolderObjects } from "../../../packages/data/src/channel/folder-objects.ts";
import { HttpObjects, STALL_MS } from "../../../packages/data/src/channel/http-objects.ts";
import { readText } from "../../../packages/data/src/channel/object-store.ts";
import { Releases } from "../../../packages/server/src/releases/releases.ts";
import { eventLog, type LoggedEvent } from "../../harness/logged-events.ts";
import { HOW_TO_INSTALL, hasPeer, PEERS, peerPath } from "../../harness/peers.ts";
import { freePort } from "../../harness/ports.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { smallRelease } from "../../harness/release.ts";
import { type S3Server, startS3 } from "../../harness/s3-server.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";

const DAY = 86_400_000;
const { signal } = new AbortController();
const folder = temporaryFolder;

const keys = makeKeyPair();

/** A builder and servers of one channel, with their own clock. */
class Group {
  now = Date.UTC(2026, 10, 22);
  readonly builder = folder();
  readonly warnings: string[] = [];
  readonly uploads: string[] = [];
  readonly base: string;
  readonly readBase: string;
  readonly env: S3Environment;

  constructor(base: string = folder(), env: S3Environment = {}, readBase = base) {
    this.base = base;
    this.readBase = readBase;
    this.env = env;
  }

  publisher(change: Partial<PublisherOptions> = {}): Publisher {
    return new Publisher({
      store: openStore(this.base, this.env)!,
      channel: "stable",
      privateKey: readPrivateKey(keys.privatePem),
      now: () => this.now,
      signal,
      onWarning: (message) => this.warnings.push(message),
      onUpload: (path) => this.uploads.push(path),
      ...change,
    });
  }

  /**
   * Builds a release.
   * @returns its name
   */
  build(n: number): string {
    smallRelease(this.builder, n);
    return currentName(this.builder)!;
  }

  publish(n: number): Promise<Statement> {
    return this.publisher().publish(this.builder, this.build(n));
  }

  server(change: Partial<FollowerOptions> = {}): Server {
    return new Server({
      store: openReader(this.readBase, this.env),
      channel: "stable",
      publicKeys: [keys.publicKey],
      dataDir: folder(),
      verify: verifyRelease,
      now: () => this.now,
      ...change,
    });
  }
}

class Server {
  readonly dataDir: string;
  private readonly follower: ChannelFollower;

  constructor(options: FollowerOptions) {
    this.dataDir = options.dataDir;
    this.follower = new ChannelFollower(options);
  }

  follow() {
    return this.follower.follow(signal);
  }

  get release(): string | undefined {
    return currentName(this.dataDir);
  }

  /** @returns the fault that ends following */
  async fault(): Promise<ChannelError> {
    const error = await this.follow().then(
      () => new Error("was followed"),
      (reason: unknown) => reason,
    );
    if (!(error instanceof ChannelError)) throw error;
    return error;
  }
}

/** Waits for the promise, and returns the fault that rejects it. */
async function faultOf(act: Promise<unknown>): Promise<ChannelError> {
  const error = await act.then(
    () => new Error("did not fail"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ChannelError)) throw error;
  return error;
}

interface Place {
  readonly base: string;
  readonly readBase?: string;
  readonly env?: S3Environment;
}

const WITH_MOTO = Bun.which("moto_server") === null ? {} : { "a bucket of moto": startMoto };
/**
 * Each kind of store. Builders write to a folder. Here, servers read it over HTTP; in all other tests, they
 * read it as a folder.
 */
const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  "a folder behind a web server": async () => {
    const base = folder();
    return { base, readBase: serveFolder(base) };
  },
  "a bucket of a strict store": async () => {
    const server = startS3("inkling");
    stops.push(() => server.stop());
    return { base: "s3://inkling/releases of & team", env: server.env };
  },
  "a bucket of s3rver": startS3rver,
  ...(hasPeer("fauxqs") ? { "a bucket of fauxqs": startFauxqs } : {}),
  ...WITH_MOTO,
};
if (Bun.which("moto_server") === null) test.skip("a bucket of moto: needs moto_server", () => {});
if (!hasPeer("fauxqs")) test.skip(`a bucket of fauxqs: needs ${HOW_TO_INSTALL}`, () => {});

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

function serveFolder(path: string): string {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const file = Bun.file(join(path, decodeURIComponent(new URL(request.url).pathname)));
      if (!(await file.exists())) return new Response("no", { status: 404 });
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
      return new Response(file.slice(from), { status: from > 0 ? 206 : 200 });
    },
  });
  stops.push(() => void server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}

/**
 * s3rver answers a PUT before the file is written, so on a busy machine the next GET may read the previous object. This
 * module makes it wait for the file.
 */
const WAIT_FOR_FILE = `
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/node_modules/s3rver/lib/s3rver.js");
const fs = require("fs-extra");
const { prototype } = require("./stores/filesystem");
const { createWriteStream } = fs;
const { putObject } = prototype;
const closed = [];
fs.createWriteStream = (...of) => {
  const stream = createWriteStream(...of);
  closed.push(new Promise((resolve) => stream.on("close", resolve)));
  return stream;
};
prototype.putObject = async function (object) {
  const result = await putObject.call(this, object);
  await Promise.all(closed);
  return result;
};`;

async function startS3rver(): Promise<Place> {
  const port = freePort();
  return startBucket(port, [
    ...["--import", `data:text/javascript,${encodeURIComponent(WAIT_FOR_FILE)}`],
    "node_modules/s3rver/bin/s3rver.js",
    ...["--directory", folder(), "--address", "127.0.0.1", "--port", String(port), "--silent"],
    "--configure-bucket",
    "inkling",
  ]);
}

/** fauxqs checks no signatures, and ignores the conditions of writes. */
async function startFauxqs(): Promise<Place> {
  const port = freePort();
  const code = `import { startFauxqs } from ${JSON.stringify(join(PEERS, "fauxqs/dist/app.js"))};
    const server = await startFauxqs({ port: ${port}, host: "127.0.0.1", logger: false });
    server.createBucket("inkling");`;
  return startBucket(port, ["--input-type=module", "-e", code]);
}

/** moto checks the conditions of writes, but no signatures. */
async function startMoto(): Promise<Place> {
  const port = freePort();
  const headers = { authorization: "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request" };
  const options = { method: "PUT", headers };
  return startBucket(port, ["--host", "127.0.0.1", "--port", String(port)], "moto_server", (endpoint) =>
    fetch(`${endpoint}/inkling`, options),
  );
}

/** Starts a store, and waits until it has the bucket. */
async function startBucket(
  port: number,
  args: readonly string[],
  program = "node",
  create: (endpoint: string) => Promise<unknown> = async () => {},
): Promise<Place> {
  const started: ChildProcess = spawn(program, args, {
    cwd: join(import.meta.dir, "../../.."),
    stdio: "ignore",
  });
  stops.push(() => started.kill("SIGKILL"));
  const endpoint = `http://127.0.0.1:${port}`;
  const env = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER", AWS_ENDPOINT_URL: endpoint };
  const store = openStore("s3://inkling/data", env)!;
  await until(() =>
    create(endpoint)
      .then(() => store.list("releases/", signal))
      .then(
        () => true,
        () => false,
      ),
  );
  return { base: "s3://inkling/data", env };
}

describe.each(Object.keys(PLACES))("%s", (kind) => {
  let group: Group;
  beforeAll(async () => {
    const { base, env, readBase } = await PLACES[kind]!();
    group = new Group(base, env, readBase);
  });

  test("carries releases from the builder to servers, and back again", async () => {
    const server = group.server();
    const first = await group.publish(1);
    expect(await server.follow()).toMatchObject({ release: first.release.name, isNew: true });
    expect(server.release).toBe(first.release.name);
    verifyRelease(server.dataDir, server.release!);
    expect(await server.follow()).toMatchObject({ isNew: false, bytes: 0 });

    const second = await group.publish(2);
    expect(second.version).toBeGreaterThan(first.version);
    await server.follow();
    expect(server.release).toBe(second.release.name);

    const back = await group.publisher().rollback();
    expect(back).toMatchObject({ version: second.version + 1, release: first.release });
    expect(await server.follow()).toMatchObject({ isNew: true, bytes: 0 });
    expect(server.release).toBe(first.release.name);
    expect((await group.publisher().rollback(second.release.name)).version).toBe(back.version + 1);
    await server.follow();
    expect(server.release).toBe(second.release.name);
    expect(group.warnings).toEqual([]);
    const what = "a channel in a bucket: publish, follow, roll back";
    if (kind === "a bucket of s3rver") tried(import.meta.path, "s3rver", "s3rver", what);
    if (kind === "a bucket of fauxqs") tried(import.meta.path, "fauxqs", peerPath("fauxqs"), what);
  });

  test("keeps five releases, and removes the files of others", async () => {
    for (let n = 10; n < 17; n++) await group.publish(n);
    const server = group.server();
    await server.follow();
    const store = openStore(group.base, group.env)!;
    const there = await store.list("releases/", signal);
    const { kept } = (await group.publisher().read())!;
    expect(there.sort()).toEqual(kept.map(({ name }) => `releases/${name}.json`).sort());
    expect(kept).toHaveLength(5);
    const named = kept.flatMap(({ name }) => segmentFiles(group.builder, name));
    const paths = new Set(named.map((file) => file.slice(group.builder.length + 1)));
    expect((await store.list("segments/", signal)).sort()).toEqual([...paths].sort());
    expect(await store.list("channels/", signal)).toEqual(["channels/stable.json"]);
    expect(group.warnings).toEqual([]);
  });

  test("does nothing more once it is stopped", async () => {
    const store = openStore(group.base, group.env)!;
    await store.write("rulesets/kept", "kept", signal);
    const stopped = AbortSignal.abort("SIGINT");
    for (const act of [
      () => store.read("rulesets/kept", 0, stopped),
      () => store.size("rulesets/kept", stopped),
      () => store.write("rulesets/kept", "changed", stopped),
      () => store.list("rulesets/", stopped),
      () => store.remove("rulesets/kept", stopped),
    ])
      expect(await faultOf(act())).toMatchObject({
        fault: "unreachable",
        message: expect.stringContaining("SIGINT"),
      });
    expect(await store.size("rulesets/kept", signal)).toBe(4);
    await store.remove("rulesets/kept", signal);
  });

  test("a stop leaves the channel as it is, until the statement is written; then it is written whole", async () => {
    await group.publish(18);
    const before = await group.publisher().read();
    const renew = async (stopAt: "read" | "write") => {
      const stopper = new AbortController();
      const store = openStore(group.base, group.env)!;
      const replace = store.replace.bind(store);
      store.replace = (...args) => {
        stopper.abort("SIGINT");
        return replace(...args);
      };
      const ruleset = async () => {
        if (stopAt === "read") stopper.abort("SIGINT");
        return undefined;
      };
      const publisher = group.publisher({ store, ruleset, signal: stopper.signal });
      const statement = await publisher.renew().catch(() => undefined);
      return { statement, isStated: publisher.isStated };
    };
    expect(await renew("read")).toEqual({ statement: undefined, isStated: false });
    expect(await group.publisher().read()).toEqual(before);
    expect(await renew("write")).toMatchObject({
      statement: { version: before!.version + 1 },
      isStated: true,
    });
    expect(await group.publisher().read()).toMatchObject({ version: before!.version + 1 });
    expect(group.warnings).toEqual([]);
  });

  test("carries the newest ruleset to those who want it, and keeps it while the database is unreachable", async () => {
    const texts = ["[weights]\nproxy = 0.5\n", "# Umlaute: äöü\n"];
    const [server, app] = [group.server(), group.server({ takesRuleset: true })];
    const publish = async (number: number, ruleset: { number: number; text: string } | undefined) => {
      const publisher = group.publisher({ ruleset: async () => ruleset });
      const statement = await publisher.publish(group.builder, group.build(21));
      expect(statement.ruleset?.number).toBe(number);
      await Promise.all([server.follow(), app.follow()]);
      return readChannelRuleset(app.dataDir);
    };
    expect(await publish(7, { number: 7, text: texts[0]! })).toEqual({ number: 7, text: texts[0]! });
    expect(await publish(8, { number: 8, text: texts[1]! })).toEqual({ number: 8, text: texts[1]! });
    expect(await publish(8, undefined)).toEqual({ number: 8, text: texts[1]! });
    expect(readChannelRuleset(server.dataDir)).toBeUndefined();
  });

  test("a segment that two releases share is neither sent nor fetched again", async () => {
    const server = group.server();
    await group.publish(20);
    await server.follow();
    group.uploads.length = 0;
    await group.publish(20);
    expect(group.uploads.filter((path) => path.startsWith("segments/"))).toEqual([]);
    expect((await server.follow()).bytes).toBe(0);
  });
});

test("a folder is open to other users, as a web server is one, whatever the umask", async () => {
  const parent = folder();
  const group = new Group(join(parent, "made/releases"));
  const before = process.umask(0o027);
  await group.publish(1).finally(() => process.umask(before));
  const modes = readdirSync(parent, { recursive: true, withFileTypes: true }).map((entry) => {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
    return `${entry.isDirectory() ? "folder" : "file"} ${mode.toString(8)}`;
  });
  expect(modes.length).toBeGreaterThan(7);
  expect([...new Set(modes)].sort()).toEqual(["file 644", "folder 755"]);
  expect(statSync(parent).mode & 0o777).toBe(0o700); // the folder existed before
});

test("a call that never ends is given up after a while, and at a stop; until it ends, no other begins", async () => {
  const base = folder();
  writeFileSync(join(base, "a"), "text");
  const store = openStore(base, {})!;
  const handle = await open(join(base, "a"));
  await handle.close();
  const read = spyOn(Object.getPrototypeOf(handle), "read");
  try {
    const hanging = Promise.withResolvers();
    read.mockImplementationOnce(() => {
      jest.advanceTimersByTime(STALL_MS);
      return hanging.promise;
    });
    jest.useFakeTimers();
    const late = await faultOf(readText(store, "a", 10, signal));
    jest.useRealTimers();
    expect(late).toMatchObject({
      fault: "unreachable",
      message: expect.stringContaining("nothing arrived for 30 seconds"),
    });

    const stopper = new AbortController();
    const stopped = faultOf(store.size("a", stopper.signal));
    const other = new AbortController();
    const next = readText(store, "a", 10, other.signal);
    stopper.abort("SIGTERM");
    expect(await stopped).toMatchObject({
      fault: "unreachable",
      message: expect.stringContaining("SIGTERM"),
    });
    expect(read).toHaveBeenCalledTimes(1);
    hanging.resolve({ bytesRead: 0 });
    expect(await next).toBe("text");
    expect(getEventListeners(other.signal, "abort")).toEqual([]);
  } finally {
    jest.useRealTimers();
    read.mockRestore();
  }
});

describe("a channel", () => {
  test("goes back to the release before, not to one that was rolled back", async () => {
    const group = new Group();
    const first = await group.publish(1);
    await group.publish(2);
    expect((await group.publisher().rollback()).release).toEqual(first.release);
    await group.publish(3);
    expect((await group.publisher().rollback()).release).toEqual(first.release);
    expect(await faultOf(group.publisher().rollback())).toMatchObject({ fault: "absent" });
  });

  test("goes back from a release that was put back in place of a newer one", async () => {
    const group = new Group();
    const first = await group.publish(1);
    const second = await group.publish(2);
    await group.publish(3);
    await group.publisher().publish(group.builder, second.release.name);
    expect((await group.publisher().rollback()).release).toEqual(first.release);
  });

  test("a rollback stays: damaged objects are repaired without it, and publishing the release again needs force", async () => {
    const group = new Group();
    const servers = [group.server(), group.server()];
    const first = await group.publish(1);
    const second = await group.publish(2);
    for (const server of servers) await server.follow();
    const back = await group.publisher().rollback();
    expect(back.release).toEqual(first.release);
    const [file = ""] = segmentFiles(group.builder, first.release.name);
    const there = join(group.base, file.slice(group.builder.length + 1));
    const bytes = readFileSync(file);
    writeFileSync(there, bytes.toReversed());
    const statement = readFileSync(join(group.base, "channels/stable.json"), "utf8");
    group.uploads.length = 0;
    expect(await group.publisher().sendAgain(group.builder)).toEqual(back);
    expect(readFileSync(join(group.base, "channels/stable.json"), "utf8")).toBe(statement);
    expect(readFileSync(there).equals(bytes)).toBe(true);
    expect(group.uploads).toContain(`segments/${there.slice(-68)}`);

    // This is also true for a builder that has only its data folder, and after newer releases.
    const again = (isForced?: boolean) =>
      group.publisher().publish(group.builder, second.release.name, isForced);
    const refused = { fault: "rolled-back", hint: expect.stringContaining("--force") };
    expect(await faultOf(again())).toMatchObject(refused);
    for (const server of servers) {
      await server.follow();
      expect(server.release).toBe(first.release.name);
    }
    const third = await group.publish(3);
    expect(third.rolled_back).toEqual([second.release.name]);
    expect(await faultOf(again())).toMatchObject(refused);
    expect((await group.publish(4)).rolled_back).toEqual([second.release.name]);
    const forced = await again(true);
    expect(forced.release).toEqual(second.release);
    expect(forced.rolled_back).toBeUndefined();
    expect((await again()).release).toEqual(second.release);
  });

  test("that is sent again by a host without its release: nothing is sent", async () => {
    const group = new Group();
    const first = await group.publish(1);
    const path = join(group.base, `releases/${first.release.name}.json`);
    rmSync(path);
    expect(await group.publisher().sendAgain(group.builder)).toEqual(first);
    expect(existsSync(path)).toBe(true);
    const other = folder();
    smallRelease(other, 2);
    group.uploads.length = 0;
    expect(await faultOf(group.publisher().sendAgain(other))).toMatchObject({
      fault: "absent",
      message: expect.stringContaining(first.release.name),
    });
    expect(group.uploads).toEqual([]);
    expect(await faultOf(new Group().publisher().sendAgain(other))).toMatchObject({ fault: "absent" });
  });

  test("publishes what another channel has: its release and ruleset, without the data folder", async () => {
    const group = new Group();
    const [stable, canary] = ["stable", "canary"].map((channel) => group.server({ channel })) as [
      Server,
      Server,
    ];
    const ruleset = async () => ({ number: 3, text: "# three\n" });
    const onCanary = (n: number) =>
      group.publisher({ channel: "canary", ruleset }).publish(group.builder, group.build(n));
    const first = await group.publish(1);
    const second = await onCanary(2);
    await Promise.all([stable.follow(), canary.follow()]);
    expect([stable.release, canary.release]).toEqual([first.release.name, second.release.name]);
    group.uploads.length = 0;
    const published = await group.publisher().publishFrom("canary");
    expect(published).toMatchObject({ channel: "stable", release: second.release, ruleset: second.ruleset! });
    expect(group.uploads).toEqual([]);
    await stable.follow();
    expect(stable.release).toBe(second.release.name);

    await group.publisher().rollback();
    expect(await faultOf(group.publisher().publishFrom("canary"))).toMatchObject({ fault: "rolled-back" });
    expect((await group.publisher().publishFrom("canary", true)).release).toEqual(second.release);

    expect(await faultOf(group.publisher().publishFrom("beta"))).toMatchObject({ fault: "absent" });
    await onCanary(3);
    rmSync(join(group.base, "segments"), { recursive: true });
    expect(await faultOf(group.publisher().publishFrom("canary"))).toMatchObject({ fault: "missing-object" });
    group.now += 8 * DAY;
    expect(await faultOf(group.publisher().publishFrom("canary"))).toMatchObject({ fault: "expired" });
    expect((await group.publisher().read())?.release).toEqual(second.release);
  });
});

describe("a statement of the earlier format, with percentages", () => {
  /** Writes a channel in the earlier format: release 2 for a percentage of the servers, release 1 for the others. */
  async function earlier(percent: number) {
    const group = new Group();
    const first = await group.publish(1);
    const second = await group.publish(2);
    const { format: _, rolled_back: __, ...same } = second;
    const statement = { ...same, format: 1, percent, previous: first.release };
    writeFileSync(
      join(group.base, "channels/stable.json"),
      seal(JSON.stringify(statement), readPrivateKey(keys.privatePem)),
    );
    return { group, first: first.release, second: second.release };
  }

  test.each([
    [100, "second"],
    [99, "first"],
    [0, "first"],
  ] as const)("at %d%%: servers take the %s release", async (percent, name) => {
    const { group, ...releases } = await earlier(percent);
    const server = group.server();
    await server.follow();
    expect(server.release).toBe(releases[name].name);
  });

  test("is renewed, rolled back and replaced in the new format", async () => {
    const { group, first, second } = await earlier(10);
    const trial = faultOf(group.publisher().publish(group.builder, second.name));
    expect(await trial).toMatchObject({ fault: "rolled-back" });
    expect(await group.publisher().renew()).toMatchObject({ format: 2, release: first });
    const third = await group.publish(3);
    expect(third).toMatchObject({ format: 2, rolled_back: [second.name] });
    expect((await group.publisher().rollback()).release).toEqual(first);
    expect((await group.publisher().publish(group.builder, second.name, true)).release).toEqual(second);
  });
});

/** The faults that are not "unsound", by the reason. */
const FAULTS: Readonly<Record<string, ChannelError["fault"]>> = {
  "has an unknown format": "unreadable",
  "has more than the expected": "wrong-object",
};

describe("a server refuses, and goes on with what it has", () => {
  /** Returns a server at release 1, while the channel is at release 2. */
  async function behind(base?: string, env?: S3Environment) {
    const group = new Group(base, env);
    const server = group.server();
    const { release } = await group.publish(1);
    await server.follow();
    return { group, server, first: release.name };
  }

  const statementFile = (group: Group) => join(group.base, "channels/stable.json");

  const edit = (path: string, change: (value: { payload: string; signatures: unknown[] }) => void) => {
    const value = JSON.parse(readFileSync(path, "utf8"));
    change(value);
    writeFileSync(path, JSON.stringify(value));
  };

  test("a channel that was changed", async () => {
    const { group, server, first } = await behind();
    await group.publish(2);
    edit(statementFile(group), (value) => {
      const text = Buffer.from(value.payload, "base64").toString().replace('"version":1', '"version":2');
      value.payload = Buffer.from(text).toString("base64");
    });
    const error = await server.fault();
    expect(error.fault).toBe("other-key");
    expect(error.message).toContain("changed after it was signed");
    expect(server.release).toBe(first);
  });

  test("one without a signature", async () => {
    const { group, server, first } = await behind();
    await group.publish(2);
    edit(statementFile(group), (value) => {
      value.signatures = [];
    });
    expect((await server.fault()).fault).toBe("unsigned");
    writeFileSync(statementFile(group), '{"format":1}');
    expect((await server.fault()).fault).toBe("unsigned");
    writeFileSync(statementFile(group), "<html>");
    expect((await server.fault()).fault).toBe("unreadable");
    expect(server.release).toBe(first);
  });

  test("one of another key; the key is changed by giving servers and publisher both", async () => {
    const { group, server, first } = await behind();
    const other = makeKeyPair();
    const publisher = group.publisher({
      privateKey: createPrivateKey(other.privatePem),
      trusted: [keys.publicKey],
    });
    const second = await publisher.publish(group.builder, group.build(2));
    const error = await server.fault();
    expect(error).toMatchObject({ fault: "other-key", hint: expect.stringContaining("INKLING_CHANNEL_KEY") });
    expect(server.release).toBe(first);
    const both = { publicKeys: [keys.publicKey, other.publicKey], dataDir: server.dataDir };
    await group.server(both).follow();
    expect(currentName(server.dataDir)).toBe(second.release.name);
  });

  test("nothing of a channel whose statement was lost and made anew", async () => {
    const { group, server } = await behind();
    for (let n = 2; n < 5; n++) await group.publish(n);
    await server.follow();
    group.now += 60_000;
    rmSync(statementFile(group));
    const { release } = await group.publish(9);
    await server.follow();
    expect(server.release).toBe(release.name);
  });

  test("a publisher whose key is not the channel's", async () => {
    const { group, first: currentReleaseBefore } = await behind();
    const publisher = group.publisher({ privateKey: createPrivateKey(makeKeyPair().privatePem) });
    const error = await faultOf(publisher.publish(group.builder, group.build(2)));
    expect(error.fault).toBe("other-key");
    expect((await group.publisher().read())?.release.name).toBe(currentReleaseBefore);
  });

  test("a channel that expires during the download", async () => {
    const { group, server, first } = await behind();
    await group.publish(2);
    const verify = () => {
      group.now += 8 * DAY;
    };
    const late = group.server({ dataDir: server.dataDir, verify });
    expect(await late.fault()).toMatchObject({ fault: "expired" });
    expect(server.release).toBe(first);
  });

  test("an expired one, also when it was taken before", async () => {
    const { group, server, first } = await behind();
    group.now += 8 * DAY;
    expect(await server.fault()).toMatchObject({ fault: "expired" });
    expect(await group.server({ dataDir: server.dataDir }).fault()).toMatchObject({ fault: "expired" });
    expect(server.release).toBe(first);
    await group.publisher().renew();
    expect((await server.follow()).release).toBe(first);
  });

  test("an older version, and another content under the same version", async () => {
    const { group, server } = await behind();
    const before = readFileSync(statementFile(group));
    const old = (await group.publisher().read())!;
    const { release } = await group.publish(2);
    await server.follow();
    writeFileSync(statementFile(group), before);
    expect(await server.fault()).toMatchObject({ fault: "replayed" });
    expect(await group.server({ dataDir: server.dataDir }).fault()).toMatchObject({ fault: "replayed" });
    const forged = await group.publish(3); // reuses the version of release 2
    expect(forged.version).toBe(old.version + 1);
    expect(await server.fault()).toMatchObject({ fault: "replayed" });
    expect(server.release).toBe(release.name);
  });

  test("the statement of another channel under this name", async () => {
    const { group, server, first } = await behind();
    await group.publisher({ channel: "beta" }).publish(group.builder, group.build(2));
    writeFileSync(statementFile(group), readFileSync(join(group.base, "channels/beta.json")));
    expect(await server.fault()).toMatchObject({ fault: "other-key" });
    expect(server.release).toBe(first);
  });

  test.each([
    ["a pipe", (path: string) => void Bun.spawnSync(["mkfifo", path])],
    ["a folder", mkdirSync],
  ])("a statement that is %s", async (_, make) => {
    const { group, server, first } = await behind();
    rmSync(statementFile(group));
    make(statementFile(group));
    expect(await server.fault()).toMatchObject({
      fault: "unreachable",
      message: expect.stringContaining("stable.json is not a file"),
    });
    expect(server.release).toBe(first);
  });

  test("a manifest that is missing, or another", async () => {
    const { group, server, first } = await behind();
    const { release } = await group.publish(2);
    const path = join(group.base, `releases/${release.name}.json`);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace('"format": 1', '"format":  1'));
    expect(await server.fault()).toMatchObject({ fault: "wrong-object" });
    rmSync(path);
    expect(await server.fault()).toMatchObject({ fault: "missing-object" });
    expect(server.release).toBe(first);
    writeFileSync(path, text);
    await server.follow();
    expect(server.release).toBe(release.name);
  });

  describe("a manifest that is signed, and unsound", () => {
    type Manifest = { -readonly [Field in keyof Release]: Release[Field] };
    const withId = (manifest: Manifest) => ({ ...manifest, id: releaseId(manifest) });
    const swapped = ({ geo, reputation, ...others }: Release["segments"]) => ({
      geo: reputation!,
      reputation: geo!,
      ...others,
    });
    /**
     * In each row, the channel names a manifest that differs from the published one. All other files are those of
     * published releases.
     */
    const UNSOUND: Readonly<
      Record<string, { change: (sound: Manifest, first: Manifest) => unknown; as?: "first"; why: string }>
    > = {
      "another id": {
        change: (sound) => ({ ...sound, id: "0123456789ab" }),
        why: "its content has the id",
      },
      "the kinds of two segments swapped": {
        change: (sound) => withId({ ...sound, segments: swapped(sound.segments) }),
        why: "kind: got 2, want 1 (geo)",
      },
      "those of the release in use swapped, under its name": {
        change: (_, first) => ({ ...first, segments: swapped(first.segments) }),
        as: "first",
        why: "its content has the id",
      },
      "only kinds that are here swapped": {
        change: (sound, first) =>
          withId({ ...sound, segments: swapped(first.segments), created_at: "2026-03-01T00:00:00.000Z" }),
        why: "kind: got 2, want 1 (geo)",
      },
      "another manifest of the release in use, with its id": {
        change: (_, first) => ({ ...first, flagged: {} }),
        as: "first",
        why: "with a different manifest, but a release must never change",
      },
      "no segments": {
        change: (sound) => ({ ...sound, segments: {} }),
        why: "its content has the id",
      },
      "no segments, and the id of that": {
        change: (sound) => withId({ ...sound, segments: {} }),
        why: "has no segment for geolocation",
      },
      "no segments, and nothing that it would answer": {
        change: (sound) => withId({ ...sound, segments: {}, missing: [...ANSWERS] }),
        why: "the manifest has no segment",
      },
      "one segment less": {
        change: ({ segments: { email: _, ...segments }, ...sound }) => withId({ ...sound, segments }),
        why: "has no segment for disposable",
      },
      "a segment with fewer bytes than it has": {
        change: (sound, { segments: { geo } }) =>
          withId({ ...sound, segments: { ...sound.segments, geo: { ...geo!, bytes: geo!.bytes - 1 } } }),
        why: "has more than the expected",
      },
      "a kind that is unknown alone": {
        change: (sound) =>
          withId({
            ...sound,
            segments: { weather: sound.segments.geo } as Release["segments"],
            missing: [...ANSWERS],
          }),
        why: "its content has the id",
      },
      "a segment of another kind for the networks, which the id does not cover": {
        change: (_, first) =>
          withId({
            ...first,
            segments: { ...first.segments, network: first.segments.geo! },
            created_at: "2026-03-02T00:00:00.000Z",
          }),
        why: "kind: got 1, want 4 (network)",
      },
      "another form": { change: (sound) => ({ ...sound, segments: [] }), why: "has an unknown format" },
    };

    /** Returns what remains of the release in use. */
    const kept = ({ dataDir }: Server) =>
      [
        "current",
        "channel.json",
        ...readdirSync(join(dataDir, "releases")).map((name) => `releases/${name}`),
      ].map((path) => [path, readFileSync(join(dataDir, path), "utf8")]);
    const manifestOf = (dataDir: string, name: string): Manifest =>
      JSON.parse(readFileSync(join(dataDir, `releases/${name}.json`), "utf8"));

    test.each(Object.entries(UNSOUND))("%s", async (_, { change, as, why }) => {
      const { group, server, first } = await behind();
      const second = group.build(2);
      const unsound = change(manifestOf(group.builder, second), manifestOf(group.builder, first)) as Manifest;
      const name = as === "first" ? first : releaseName(unsound);
      const published = await group.publisher().publish(group.builder, second);
      const text = `${JSON.stringify(unsound, null, 2)}\n`;
      writeFileSync(join(group.base, `releases/${name}.json`), text);
      const release = { name, sha256: sha256Hex(text) };
      const statement = { ...published, version: published.version + 1, release, kept: [release] };
      writeFileSync(statementFile(group), seal(JSON.stringify(statement), readPrivateKey(keys.privatePem)));
      const before = kept(server);
      for (let tries = 0; tries < 2; tries++) {
        const error = await server.fault();
        expect(error.message).toContain(why);
        expect(error.fault).toBe(FAULTS[why] ?? "unsound");
        expect(kept(server)).toEqual(before);
      }
      const serving = new Releases({
        dataDir: server.dataDir,
        now: () => group.now,
        verify: async () => {},
        allowMissing: true,
        log: eventLog([]),
        onChange: () => {},
      });
      await serving.start();
      expect(serving.current?.name).toBe(first);
      group.now += 1_000;
      const next = await group.publish(3);
      await server.follow();
      expect(server.release).toBe(next.release.name);
    });

    test("that is in use already is left at a restart for the one before it", async () => {
      const { server, first } = await behind();
      const sound = manifestOf(server.dataDir, first);
      const unsound = withId({ ...sound, segments: swapped(sound.segments) });
      publish(server.dataDir, unsound);
      expect(server.release).toBe(releaseName(unsound));
      const events: LoggedEvent[] = [];
      const serving = new Releases({
        dataDir: server.dataDir,
        now: () => 0,
        verify: async () => {},
        allowMissing: true,
        log: eventLog(events),
        onChange: () => {},
      });
      await serving.start();
      expect(serving.current?.name).toBe(first);
      expect(events).toMatchObject([
        { type: "release-refused", reason: expect.stringContaining("kind: got 2, want 1 (geo)") },
        { type: "release-serving", name: first },
      ]);
      expect(() => verifyRelease(server.dataDir, releaseName(unsound))).toThrow("do not match its manifest");
    });

    test("what a server answers from stays, however many releases come after it", async () => {
      const { group, server, first } = await behind();
      const serving = group.server({ dataDir: server.dataDir, served: () => first });
      for (let n = 2; n < 6; n++) {
        await group.publish(n);
        await serving.follow();
      }
      expect(releaseNames(server.dataDir)).toHaveLength(3);
      checkFiles(server.dataDir, first);
    });
  });

  test("a ruleset that is missing or another, and nobody else is held up by it", async () => {
    const group = new Group();
    const [app, server] = [group.server({ takesRuleset: true }), group.server()];
    const publish = (number: number, text: string) =>
      group
        .publisher({ ruleset: async () => ({ number, text }) })
        .publish(group.builder, group.build(number));
    const { ruleset } = await publish(1, "# one\n");
    await app.follow();
    const path = join(group.base, `rulesets/${ruleset!.sha256}.toml`);
    const second = await publish(2, "# two\n");
    const other = path.replace(ruleset!.sha256, second.ruleset!.sha256);
    writeFileSync(other, "# tow\n");
    expect(await app.fault()).toMatchObject({ fault: "wrong-object" });
    rmSync(other);
    expect(await app.fault()).toMatchObject({ fault: "missing-object" });
    expect(readChannelRuleset(app.dataDir)).toEqual({ number: 1, text: "# one\n" });
    await server.follow();
    expect(server.release).toBe(second.release.name);
    await publish(2, "# two\n"); // publishes ruleset 2 again
    await app.follow();
    expect(readChannelRuleset(app.dataDir)).toEqual({ number: 2, text: "# two\n" });
  });

  test("a segment that is missing, another, shorter or longer", async () => {
    const { group, server, first } = await behind();
    const { release } = await group.publish(2);
    const [file = ""] = segmentFiles(group.builder, release.name);
    const path = join(group.base, file.slice(group.builder.length + 1));
    const bytes = readFileSync(path);
    const broken = {
      "missing-object": () => rmSync(path),
      "wrong-object": () => writeFileSync(path, bytes.toReversed()),
      unreachable: () => truncateSync(path, bytes.length - 1),
    };
    for (const [fault, act] of Object.entries(broken)) {
      act();
      expect((await server.fault()).fault).toBe(fault as ChannelError["fault"]);
      writeFileSync(path, bytes);
    }
    writeFileSync(path, Buffer.concat([bytes, bytes]));
    expect((await server.fault()).fault).toBe("wrong-object");
    expect(server.release).toBe(first);
    writeFileSync(path, bytes);
    await server.follow();
    expect(server.release).toBe(release.name);
    expect(readdirSync(join(server.dataDir, "segments")).filter((name) => name.endsWith(".part"))).toEqual(
      [],
    );
  });

  test("a release that the verifier refuses", async () => {
    const { group, server, first } = await behind();
    const { release } = await group.publish(2);
    const strict = group.server({
      dataDir: server.dataDir,
      verify: (dataDir, name) => {
        rmSync(segmentFiles(dataDir, name)[0]!);
        verifyRelease(dataDir, name);
      },
    });
    expect((await strict.fault()).fault).toBe("unsound");
    expect(server.release).toBe(first);
    expect(releaseNames(server.dataDir)).toEqual([first]);
    await server.follow();
    expect(server.release).toBe(release.name);
  });

  test("a segment that is damaged at the builder; one that was damaged in the store is sent again", async () => {
    const { group, server, first } = await behind();
    const name = group.build(2);
    const [file = ""] = segmentFiles(group.builder, name);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.toReversed());
    const damaged = await faultOf(group.publisher().publish(group.builder, name));
    expect(damaged).toMatchObject({ fault: "unsound" });
    writeFileSync(file, bytes);
    await group.publisher().publish(group.builder, name);
    const there = join(group.base, file.slice(group.builder.length + 1));
    writeFileSync(there, bytes.toReversed());
    expect(await server.fault()).toMatchObject({ fault: "wrong-object" });
    await group.publisher().sendAgain(group.builder);
    await server.follow();
    expect(first).not.toBe(name);
    expect(server.release).toBe(name);
  });

  test("a segment that is lost here is fetched again", async () => {
    const { server, first } = await behind();
    const [file = ""] = segmentFiles(server.dataDir, first);
    rmSync(file);
    expect((await server.follow()).bytes).toBeGreaterThan(0);
    expect(existsSync(file)).toBe(true);
    expect((await server.follow()).bytes).toBe(0);
  });

  test("a segment that is missing here is fetched again", async () => {
    const { server, first } = await behind();
    const [file = ""] = segmentFiles(server.dataDir, first);
    const bytes = readFileSync(file);
    expect((await server.follow()).bytes).toBe(0);
    rmSync(file);
    expect((await server.follow()).bytes).toBe(bytes.length);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    verifyRelease(server.dataDir, first);
  });

  test("a release that this version cannot open, and sends its segments once", async () => {
    const { group, server, first } = await behind();
    await group.publish(2);
    let sent = 0;
    const strict = group.server({
      dataDir: server.dataDir,
      onProgress: () => sent++,
      verify: () => {
        throw new ReleaseError("made by another version");
      },
    });
    expect((await strict.fault()).fault).toBe("unsound");
    expect(sent).toBeGreaterThan(0);
    sent = 0;
    expect((await strict.fault()).fault).toBe("unsound");
    expect([sent, server.release]).toEqual([0, first]);
  });

  test("a pinned release stays, the channel's is fetched", async () => {
    const { group, server, first } = await behind();
    pin(server.dataDir, first);
    const { release } = await group.publish(2);
    expect(await server.follow()).toMatchObject({ isNew: false });
    expect(server.release).toBe(first);
    expect(releaseNames(server.dataDir)).toContain(release.name);
    const verified = { count: 0 };
    const counting = group.server({
      dataDir: server.dataDir,
      verify: () => {
        verified.count++;
      },
    });
    for (let poll = 0; poll < 3; poll++) await counting.follow();
    expect(verified.count).toBe(0);
  });

  describe("a store that drips", () => {
    /**
     * Serves paths that `isWhole` accepts. For all others, it sends a byte every few milliseconds, for as
     * long as the client reads.
     */
    function serveDrips(path: string, isWhole: (pathname: string) => boolean): string {
      const server = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        idleTimeout: 0,
        fetch: async (request) => {
          const { pathname } = new URL(request.url);
          const bytes = await Bun.file(join(path, decodeURIComponent(pathname))).bytes();
          if (isWhole(pathname)) return new Response(bytes);
          let at = 0;
          return new Response(
            new ReadableStream({
              async pull(controller) {
                if (at === bytes.length) return controller.close();
                controller.enqueue(bytes.subarray(at, ++at));
                await Bun.sleep(5);
              },
            }),
          );
        },
      });
      stops.push(() => void server.stop(true));
      return `http://127.0.0.1:${server.port}`;
    }
    const isText = (pathname: string) => !pathname.startsWith("/segments/");

    test.each([
      ["its segments", isText, 100, "took longer than 100 ms"],
      ["the channel itself", () => false, 10, "channels/stable.json took longer than 10 ms"],
    ] as const)("%s", async (_, isWhole, totalMs, why) => {
      const { group, server, first } = await behind();
      await group.publish(2);
      const store = Object.assign(openReader(serveDrips(group.base, isWhole), {}), { totalMs });
      const dripped = group.server({ dataDir: server.dataDir, store });
      expect(await dripped.fault()).toMatchObject({ fault: "slow", message: expect.stringContaining(why) });
      expect(server.release).toBe(first);
      const { release } = await server.follow(); // now over a fast connection
      expect(release).not.toBe(first);
    });

    test("a segment that arrives slowly goes on where the last try ended", async () => {
      const { group, server } = await behind();
      const { release } = await group.publish(2);
      const offsets = new Set<number>();
      const whole = openReader(group.base, {});
      const store: ObjectReader = {
        location: "here",
        totalMs: 50,
        read: async (path, offset, until) => {
          const body = await whole.read(path, offset, until);
          if (body === undefined || !path.startsWith("segments/")) return body;
          offsets.add(offset);
          async function* first() {
            for await (const chunk of body!.chunks) {
              yield chunk.subarray(0, 40_000);
              await Bun.sleep(100);
              yield chunk.subarray(40_000, 40_001);
            }
          }
          return { offset: body.offset, chunks: first() };
        },
      };
      const slow = group.server({ dataDir: server.dataDir, store });
      while (!offsets.has(80_000)) expect((await slow.fault()).fault).toBe("slow");
      expect([...offsets].slice(0, 3)).toEqual([0, 40_000, 80_000]);
      await server.follow();
      expect(server.release).toBe(release.name);
    });
  });

  test("a redirect, which could lead anywhere", async () => {
    const base = folder();
    const target = serveFolder(base);
    const requests: string[] = [];
    const redirecting = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        requests.push(request.headers.get("authorization") ?? "none");
        return Response.redirect(target + new URL(request.url).pathname);
      },
    });
    stops.push(() => void redirecting.stop(true));
    const group = new Group(base, {}, `http://user:password@127.0.0.1:${redirecting.port}`);
    await group.publish(1);
    const error = await group.server().fault();
    expect(error).toMatchObject({ fault: "denied", hint: expect.stringContaining("redirects") });
    expect(error.message).not.toContain("password");
    expect(requests).toEqual([`Basic ${btoa("user:password")}`]);
  });

  test("a channel that is not there, and a host that is not", async () => {
    expect((await new Group().server().fault()).fault).toBe("absent");
    const away = new Group(folder(), {}, `http://127.0.0.1:${freePort()}`);
    expect((await away.server().fault()).fault).toBe("unreachable");
  });
});

describe("a bucket", () => {
  let bucket: S3Server;
  let group: Group;
  beforeAll(() => {
    bucket = startS3("inkling");
    stops.push(() => bucket.stop());
    group = new Group("s3://inkling/x", bucket.env);
  });

  test("that cuts downloads: each try goes on where the last one ended", async () => {
    const server = group.server();
    await group.publish(1);
    const [largest = 0] = segmentFiles(group.builder, currentName(group.builder)!)
      .map((path) => statSync(path).size)
      .sort((a, b) => b - a);
    bucket.faults.cutAfter = Math.ceil(largest / 10);
    bucket.requests.length = 0;
    let tries = 0;
    for (; server.release === undefined && tries < 40; tries++) {
      await server.follow().catch((error: ChannelError) => expect(error.fault).toBe("unreachable"));
    }
    bucket.faults.cutAfter = undefined;
    expect(server.release).toBeDefined();
    expect(tries).toBeGreaterThan(1);
    expect(bucket.requests.some((request) => / bytes=\d+-$/.test(request))).toBe(true);
  });

  test("that is overloaded for a while: nothing is taken until it answers again, on either side", async () => {
    const server = group.server();
    const { release } = await group.publish(80);
    for (const refusedAfter of [0, 1, 2, 3]) {
      bucket.faults.unavailable = 1;
      bucket.faults.answersBefore = refusedAfter;
      expect(await server.fault()).toMatchObject({ fault: "unreachable" });
      expect([server.release, releaseNames(server.dataDir)]).toEqual([undefined, []]);
    }
    await server.follow();
    expect(server.release).toBe(release.name);
    bucket.faults.unavailable = 1;
    expect(await faultOf(group.publish(81))).toMatchObject({ fault: "unreachable" });
    const next = await group.publish(81);
    await server.follow();
    expect(server.release).toBe(next.release.name);
  });

  test("that sends an object from its beginning again: nothing is written through a link placed meanwhile", async () => {
    const { release } = await group.publish(82);
    const server = group.server();
    const victim = join(folder(), "victim");
    writeFileSync(victim, "precious");
    const [file = ""] = segmentFiles(group.builder, release.name);
    const path = file.slice(group.builder.length + 1);
    const part = join(server.dataDir, `${path}.part`);
    mkdirSync(join(server.dataDir, "segments"), { recursive: true });
    writeFileSync(part, "begun");
    const store = openStore(group.base, group.env)!;
    const read = store.read.bind(store);
    let links = 0;
    store.read = (name, offset, stop) => {
      if (name !== path || offset === 0) return read(name, offset, stop);
      links++;
      rmSync(part);
      symlinkSync(victim, part);
      return read(name, 0, stop);
    };
    await group.server({ store, dataDir: server.dataDir }).follow();
    expect([links, readFileSync(victim, "utf8")]).toEqual([1, "precious"]);
    const { mode } = lstatSync(join(server.dataDir, path));
    expect([server.release, mode.toString(8)]).toEqual([release.name, "100640"]);
  });

  test("that falls silent in the middle of an object is given up, with what has arrived", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n";
    const silent = Bun.listen({
      port: 0,
      hostname: "127.0.0.1",
      socket: { data: (socket) => void socket.write(head + "x".repeat(1_000)) },
    });
    stops.push(() => silent.stop(true));
    const send = (path: string, init: RequestInit) => fetch(`http://127.0.0.1:${silent.port}/${path}`, init);
    const objects = new HttpObjects("silent", send, 2_000);
    const body = await objects.read("segments/a", 0, signal);
    const taken: number[] = [];
    const error = await faultOf(
      (async () => {
        for await (const chunk of body!.chunks) taken.push(chunk.length);
      })(),
    );
    expect(error).toMatchObject({
      fault: "unreachable",
      message: expect.stringContaining("nothing arrived"),
    });
    expect(taken.reduce((a, b) => a + b, 0)).toBe(1_000);
  });

  test("that is full refuses a release, and has the one before", async () => {
    bucket.faults.isFull = true;
    expect(await faultOf(group.publish(2))).toMatchObject({ fault: "unreachable" });
    bucket.faults.isFull = false;
    expect((await group.publisher().read())?.release.name).not.toBe(currentName(group.builder)!);
  });

  test("with a wrong secret, key, region or name is named with a hint", async () => {
    const cases: [S3Environment, string, string][] = [
      [{ AWS_SECRET_ACCESS_KEY: "wrong" }, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"],
      [{ AWS_ACCESS_KEY_ID: "wrong" }, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"],
      [{ AWS_REGION: "us-east-1" }, "AuthorizationHeaderMalformed", "AWS_REGION"],
    ];
    for (const [change, code, hint] of cases) {
      const error = await new Group(group.base, { ...bucket.env, ...change }).server().fault();
      expect(error).toMatchObject({ fault: "denied", hint: expect.stringContaining(hint) });
      expect(error.message).toContain(code);
      expect(error.message).not.toContain("wrong");
    }
    const other = await new Group("s3://other/x", bucket.env).server().fault();
    expect(other).toMatchObject({ fault: "denied", hint: expect.stringContaining("check the bucket name") });
    const upload = await faultOf(new Group("s3://other/x", bucket.env).publish(1));
    expect(upload).toMatchObject({ fault: "denied", hint: expect.stringContaining("check the bucket name") });
    expect(() => openReader(group.base, {})).toThrow("needs credentials");
    for (const name of ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
      const { AWS_ENDPOINT_URL_S3: _, ...rest } = bucket.env;
      expect(() => openReader(group.base, { ...rest, [name]: "127.0.0.1:9000" })).toThrow(
        `${name} must be an http or https URL`,
      );
    }
  });

  test("that lists wrongly loses nothing", async () => {
    const before = new Set(bucket.objects.keys());
    bucket.faults.unlisted = "channels/";
    for (let n = 30; n < 38; n++) await group.publish(n);
    expect(group.warnings.at(-1)).toContain("lacks the channel stable");
    for (const key of before) expect(bucket.objects.has(key)).toBe(true);
    bucket.faults.unlisted = "";
  });

  test("whose list repeats a page for ever is refused", async () => {
    for (let n = 0; n < 4; n++) bucket.objects.set(`endless/${n}`, new Uint8Array());
    const store = openStore("s3://inkling/endless", bucket.env)!;
    expect(await store.list("", signal)).toHaveLength(4);
    bucket.faults.isEndless = true;
    bucket.requests.length = 0;
    const error = await faultOf(store.list("", signal));
    bucket.faults.isEndless = false;
    expect(error).toMatchObject({
      fault: "wrong-object",
      message: expect.stringContaining("its list of objects does not end"),
    });
    expect(bucket.requests).toHaveLength(1_000);
  });

  test("shared by two channels keeps what either names", async () => {
    const beta = group.publisher({ channel: "beta" });
    const { release } = await beta.publish(group.builder, group.build(40));
    for (let n = 40; n < 50; n++) await group.publish(n);
    expect(bucket.objects.has(`x/releases/${release.name}.json`)).toBe(true);
    expect(await group.server({ channel: "beta" }).follow()).toMatchObject({ release: release.name });
  });
});

/** Each store in which two publishers meet. */
const CONDITIONS: Readonly<Record<string, () => Place | Promise<Place>>> = {
  "a folder": () => ({ base: folder() }),
  ...Object.fromEntries(
    (["checked", "conflict", "ignored", "unknown", "untagged"] as const).map((conditions) => [
      `a bucket whose conditions are ${conditions}`,
      () => {
        const bucket = startS3("inkling");
        stops.push(() => bucket.stop());
        bucket.faults.conditions = conditions;
        return { base: "s3://inkling/x", env: bucket.env };
      },
    ]),
  ),
  ...WITH_MOTO,
};

/** Stores that refuse a write if the object has changed since it was read a moment before. */
const CHECKED = [
  ...["checked", "conflict"].map((name) => `a bucket whose conditions are ${name}`),
  ...Object.keys(WITH_MOTO),
];

describe.each(Object.entries(CONDITIONS))("two publishers of %s", (kind, start) => {
  /** Returns a group, and a publisher that lets another one publish release 2 before it replaces the statement. */
  async function beaten() {
    const { base, env } = await start();
    const group = new Group(base, env);
    const first = await group.publish(1);
    const name = group.build(3);
    const store = openStore(group.base, group.env)!;
    const replace = store.replace.bind(store);
    let winner: Statement | undefined;
    const read = store.read.bind(store);
    store.replace = async (...args) => {
      if (!CHECKED.includes(kind)) winner ??= await group.publish(2);
      store.read = async (...from) => {
        const body = await read(...from);
        winner ??= await group.publish(2);
        return body;
      };
      return replace(...args);
    };
    const loser = group.publisher({ store });
    return { group, first, name, loser, winner: () => winner! };
  }

  test("one fails with the other's release, and nothing is lost; then it publishes", async () => {
    const { group, first, name, loser, winner } = await beaten();
    const error = await faultOf(loser.publish(group.builder, name));
    expect(error).toMatchObject({
      fault: "busy",
      message: `another publisher changed the channel stable at the same time: it now has ${winner().release.name} (version ${winner().version})`,
    });
    expect(await group.publisher().read()).toEqual(winner());
    const third = await loser.publish(group.builder, name);
    expect(third.kept).toEqual([third.release, winner().release, first.release]);
    expect(group.warnings).toEqual([]);
    const server = group.server();
    await server.follow();
    expect(server.release).toBe(name);
    if (kind in WITH_MOTO)
      tried(
        import.meta.path,
        "moto",
        ["python3", "-c", "import moto; print(moto.__version__)"],
        "a channel in a bucket: of two builders that publish at the same time, `If-Match` stops one",
      );
  });

  test("the first publication, too", async () => {
    const { base, env } = await start();
    const group = new Group(base, env);
    const name = group.build(1);
    const store = openStore(group.base, group.env)!;
    const replace = store.replace.bind(store);
    store.replace = async (...args) => {
      await group.publish(2);
      return replace(...args);
    };
    expect(await faultOf(group.publisher({ store }).publish(group.builder, name))).toMatchObject({
      fault: "busy",
    });
    expect((await group.publisher().read())?.kept).toHaveLength(1);
  });

  test("a statement that was taken although the answer was lost counts as written", async () => {
    const { base, env } = await start();
    const group = new Group(base, env);
    await group.publish(1);
    const store = openStore(group.base, group.env)!;
    const replace = store.replace.bind(store);
    store.replace = async (...args) => {
      await replace(...args);
      throw new ChannelError("unreachable", "the connection was lost");
    };
    const statement = await group.publisher({ store }).publish(group.builder, group.build(2));
    expect(await group.publisher().read()).toEqual(statement);
    store.replace = async () => {
      throw new ChannelError("unreachable", "the connection was lost");
    };
    expect(await faultOf(group.publisher({ store }).renew())).toMatchObject({ fault: "unreachable" });
    expect(await group.publisher().read()).toEqual(statement);
  });
});

describe("the lock of a folder", () => {
  const lockOf = (group: Group) => join(group.base, "channels/stable.json.lock");

  test("of a publisher that was killed is taken over once it has not changed for a while", async () => {
    const group = new Group();
    await group.publish(1);
    for (const left of ['{"host":"gone"}', ""]) {
      writeFileSync(lockOf(group), left);
      const store = new FolderObjects(group.base, 1_500);
      await group.publisher({ store }).renew();
      expect(existsSync(lockOf(group))).toBe(false);
    }
  });

  test("of a publisher that works is waited for", async () => {
    const group = new Group();
    const before = await group.publish(1);
    writeFileSync(lockOf(group), "held");
    const renewed = group.publisher().renew();
    await Bun.sleep(300);
    expect(await group.publisher().read()).toEqual(before);
    rmSync(lockOf(group));
    expect(await renewed).not.toEqual(before);
    expect(group.warnings).toEqual([]);
  });

  test("that was taken over while its holder was asleep ends the holder's attempt", async () => {
    const group = new Group();
    const before = await group.publish(1);
    const store = new FolderObjects(group.base);
    const read = store.read.bind(store);
    store.read = async (path, ...rest) => {
      const body = await read(path, ...rest);
      if (existsSync(lockOf(group))) writeFileSync(lockOf(group), "another publisher's");
      return body;
    };
    expect(await faultOf(group.publisher({ store }).renew())).toMatchObject({ fault: "busy" });
    expect(readFileSync(lockOf(group), "utf8")).toBe("another publisher's");
    rmSync(lockOf(group));
    expect(await group.publisher().read()).toEqual(before);
  });
});
