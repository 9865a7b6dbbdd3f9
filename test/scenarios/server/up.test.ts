// up.test.ts: tests `inkling up` from an empty folder to answers over HTTP. It is stopped in every way, and started
// again.
//
// Nearly the whole file uses one data folder, because its first build takes most of the time. The geolocation
// data comes from the npm packages, and the lists come from the mirror (release.ts).

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { inkling, LAUNCHER, Program } from "../../harness/inkling.ts";
import { freePort, isFree } from "../../harness/ports.ts";
import { freshMirror, LISTS_ALONE } from "../../harness/release.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const temp = temporaryFolder();
const dataDir = join(temp, "data");

const port = freePort();
const adminPort = freePort();
const base = `http://127.0.0.1:${port}`;

const source = ["--mirror", freshMirror()];
const { INKLING_MIRROR: _, INKLING_VECTORS: __, ...env } = process.env;

const ports = ["--port", String(port), "--admin-port", String(adminPort)];

const start = (args: readonly string[], folder = dataDir) =>
  new Program([...LAUNCHER, ...args, "--data-dir", folder], { cwd: temp, env });

const startUp = (folder = dataDir) => start(["up", ...ports, ...source], folder);
const untilServing = (up: Program) => up.until("it served", () => up.out.includes("Ctrl-C stops."));
const runIn = (folder: string, ...args: string[]) =>
  inkling([...args, "--data-dir", folder], { cwd: temp, env });
const run = (...args: string[]) => runIn(dataDir, ...args);

const get = (path: string, key: string) =>
  fetch(`${base}${path}`, { headers: { Authorization: `Bearer ${key}` } });

/** Are both ports free again? */
const portsAreFree = () => isFree(port) && isFree(adminPort);

/** Process ids of everything that the launcher started, including the compiler. */
function descendants(pid: number): number[] {
  const children = Bun.spawnSync(["ps", "-o", "pid=", "--ppid", String(pid)])
    .stdout.toString()
    .split("\n")
    .map(Number)
    .filter((child) => child > 0);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

let live = "";
let sandbox = "";
let admin = "";

describe("a build that is cut short", () => {
  test("killed, it leaves nothing half-published", async () => {
    const up = startUp();
    await up.until("the build began", () => existsSync(join(dataDir, "build.lock")));
    const cli = descendants(up.child.pid)[0]!;
    up.child.kill("SIGKILL"); // the launcher, which would start the command again
    process.kill(cli, "SIGKILL");
    await up.child.exited;
    // The compiler exits when it next reports progress, because nobody reads its output.
    while (existsSync(join(dataDir, "build.lock"))) await Bun.sleep(20);
    expect(existsSync(join(dataDir, "current"))).toBe(false);
    expect(existsSync(join(dataDir, "releases")) ? readdirSync(join(dataDir, "releases")) : []).toEqual([]);
  });

  test("stopped, it reports that nothing was published", async () => {
    const up = startUp();
    await up.until("the build began", () => up.err.includes("Building data in "));
    await Bun.sleep(1_000);
    expect(await up.stop("SIGINT")).toBe(130);
    await up.end();
    expect(up.err).toContain("inkling: stopped: nothing was published; the current release is unchanged\n");
    expect(existsSync(join(dataDir, "current"))).toBe(false);
  });
});

describe("the first run", () => {
  let up: Program;
  beforeAll(async () => {
    up = startUp();
    await untilServing(up);
  });

  test("names a file for the owner alone with keys and token, where its output is no terminal", () => {
    const path = join(dataDir, "first-keys.txt");
    expect(up.out).toContain(` in ${path}, `);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = readFileSync(path, "utf8");
    live = /^ {2}live +(ink_live_\w+)$/m.exec(text)?.[1] ?? "";
    sandbox = /^ {2}sandbox +(ink_test_\w+)$/m.exec(text)?.[1] ?? "";
    admin = /^ {2}admin +(ink_admin_\w+)$/m.exec(text)?.[1] ?? "";
    expect(up.out + up.err).not.toMatch(/ink_(live|test|admin)_\w/);
    expect([live.length, sandbox.length]).toEqual([48, 48]);
  });

  test("has created an admin token that the admin API takes", async () => {
    const console = /console on (http:\/\/\S+)/.exec(up.out)![1]!;
    const base = `${console}admin/v1/overrides`;
    const get = (authorization: string) => fetch(base, { headers: { Authorization: authorization } });
    expect(await (await fetch(console)).text()).toContain("<title>Inkling console</title>");
    expect((await get(`Bearer ${admin}`)).status).toBe(200);
    expect((await get(`Bearer ${live}`)).status).toBe(403);
  });

  test("prints three curl lines whose answers are interesting", async () => {
    const lines = [...up.out.matchAll(/^ {2}curl -H "Authorization: Bearer \$KEY" (\S+)$/gm)];
    expect(lines).toHaveLength(3);
    // biome-ignore lint/suspicious/noExplicitAny: JSON
    const bodies: any[] = [];
    for (const [, url] of lines) {
      const answer = await fetch(url!, { headers: { Authorization: `Bearer ${live}` } });
      expect(answer.status).toBe(200);
      bodies.push(await answer.json());
    }
    const [place, reputation, email] = bodies;
    expect(place.country.iso_code).toMatch(/^[A-Z]{2}$/);
    expect(Object.values(reputation)).toContain(true);
    expect(email).toMatchObject({ valid: true, disposable: true });
  });

  test("attributions and gaps of the data", () => {
    expect(up.out).toContain("https://db-ip.com");
    expect(up.out).toContain("This data is incomplete:\n");
  });

  test("stops on SIGTERM with exit code 0", async () => {
    expect(await up.stop()).toBe(0);
    expect(portsAreFree()).toBe(true);
  });
});

describe("later runs", () => {
  test("print no key, know the one of before, and stop on Ctrl-C as npm passes it on: twice", async () => {
    const up = startUp();
    await untilServing(up);
    expect(up.out).not.toMatch(/ink_(live|test|admin)_\w/);
    expect(up.out).toContain("Active keys: 1 live, 1 sandbox");
    expect((await get("/v1/ip-intel/reputation/1.1.1.1", live)).status).toBe(200);
    expect((await get("/v1/ip-intel/reputation/1.1.1.1", sandbox)).status).toBeLessThan(500);
    const doctor = await run("doctor", ...ports);
    expect(doctor.out).toMatch(/^ok {7}port: \d+ on 127\.0\.0\.1: Inkling is running$/m);
    expect(doctor.out).toMatch(/^ok {7}admin port: \d+ on 127\.0\.0\.1: Inkling is running$/m);
    expect([doctor.err, doctor.code === 0 ? "" : doctor.out]).toEqual(["", ""]);
    up.child.kill("SIGINT");
    up.child.kill("SIGINT");
    expect(await up.child.exited).toBe(0);
  });

  test("when the launcher is killed outright, the server does not keep its ports", async () => {
    const up = startUp();
    await untilServing(up);
    up.child.kill("SIGKILL");
    await up.child.exited;
    while (!portsAreFree()) await Bun.sleep(50);
  });

  const values: [lookup: string, path: string, value: string, ...flags: string[]][] = [
    ["geolocate", "/v1/ip-intel/geolocate/", "2001:4860:4860::8888"],
    ["reputation", "/v1/ip-intel/reputation/", "::ffff:8.8.8.8", "--evidence"],
    ["email", "/v1/user-intel/email/", "not an address"],
  ];
  test("lookup --json prints the same", async () => {
    const up = startUp();
    await untilServing(up);
    for (const [lookup, path, value, ...flags] of values) {
      const query = flags.length > 0 ? "?include=evidence" : "";
      const body = await (await get(`${path}${encodeURIComponent(value)}${query}`, live)).text();
      const printed = await run("lookup", lookup, value, ...flags, "--json");
      expect(printed).toMatchObject({ out: `${body}\n`, code: 0 });
    }
    expect(await up.stop()).toBe(0);
  });
});

describe("production", () => {
  test("serve needs no more than the release: JSON lines and nothing else", async () => {
    const up = start(["serve", ...ports]);
    await up.until("it listened", () => up.err.includes('"listening"'));
    await get("/v1/ip-intel/geolocate/81.2.69.142", live);
    expect(await up.stop()).toBe(0);
    expect(up.out).toBe("");
    const lines = up.err
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.length).toBeGreaterThan(1);
    expect(up.err).not.toContain("81.2.69.142");
  });
});

describe("the commands on the release", () => {
  test("lookup refuses what the API refuses", async () => {
    expect(await run("lookup", "reputation", "10.0.0.1")).toMatchObject({ out: "", code: 1 });
    expect((await run("lookup", "geolocate", "010.0.0.1")).err).toMatch(
      /^inkling: .*IP_ADDRESS_INVALID.*\nhint: /,
    );
  });

  test("data status and data verify", async () => {
    const status = JSON.parse((await run("data", "status", "--json")).out);
    expect(status.releases).toEqual([status.name]);
    expect(Object.keys(status.release.segments).sort()).toEqual(["email", "geo", "network", "reputation"]);
    const verified = JSON.parse((await run("data", "verify", "--json")).out);
    expect(verified).toMatchObject({ name: status.name, ok: true });
    expect((await run("data", "status")).out).toContain("dbip-city-lite");
  });

  test("a second build of the same publishes nothing", async () => {
    const { out } = await run("data", "update", "--json", ...source);
    expect(JSON.parse(out).published).toBe(false);
  });

  test("a flipped byte is found, and named", async () => {
    const { release } = JSON.parse((await run("data", "status", "--json")).out);
    const file = join(dataDir, "segments", `${release.segments.reputation.sha256}.seg`);
    const bytes = await Bun.file(file).bytes();
    bytes[bytes.length >> 1]! ^= 1;
    await Bun.write(file, bytes);
    const { out, err, code } = await run("data", "verify");
    expect(out).toMatch(/^reputation \(segments\/\w+\.seg\): .*SHA-256 is/m);
    expect(err).toMatch(/^inkling: release .* is corrupt: reputation: .*\nhint: /);
    expect(code).toBe(1);
  });

  test("a segment that was cut short: up reports it, builds it again, and serves", async () => {
    const folder = temporaryFolder();
    writeFeedChoice(folder, LISTS_ALONE);
    expect((await runIn(folder, "data", "update", ...source)).err).not.toContain("inkling: ");
    const { release } = JSON.parse((await runIn(folder, "data", "status", "--json")).out);
    truncateSync(join(folder, "segments", `${release.segments.reputation.sha256}.seg`), 5_000);
    const status = await runIn(folder, "data", "status");
    expect(status.out).toMatch(
      /^damaged {2}.*has 5000 bytes.*: run `.*data update`, which rebuilds the damaged files\.$/m,
    );
    const up = startUp(folder);
    await untilServing(up);
    expect(up.err).toMatch(/^warning: release .*; building a new release$/m);
    expect(await up.stop()).toBe(0);
    expect((await runIn(folder, "data", "verify")).code).toBe(0);
  });
});
