// cluster-page.test.ts: tests docs/several-hosts.md on one machine, with the page's own commands: three servers, keys,
// overrides, two releases, and the database and a server killed. Small releases replace the data that a build would
// create.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fetch } from "../../harness/checked-fetch.ts";
import { freePort, isFree } from "../../harness/ports.ts";
import { Postgres } from "../../harness/postgres.ts";
import { SMALL_NETWORK, smallCity, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { until } from "../../harness/until.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/several-hosts.md"), "utf8");
const SECTION = PAGE.split("\n## ").find((section) => section.startsWith("Try it on one machine"))!;
/** The first block installs PostgreSQL, which the test has. */
const BLOCKS = Array.from(SECTION.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, code]) => code!).slice(1);
const HOSTS = [1, 2, 3];
const BUILD = /^inkling data update .*\n/m;

const home = temporaryFolder();
const folder = join(home, "group");
let postgres: Postgres;
let shell: Shell;
/** The servers' ports without their last digit. */
let ports: { readonly api: string; readonly admin: string };

/** A shell as a user would use it: with job control, and one command after the other. */
class Shell {
  private readonly child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  private readonly reader;
  private text = "";
  private count = 0;

  constructor(path: string) {
    const env = { PATH: `${path}:${process.env.PATH}`, HOME: process.env.HOME ?? "" };
    this.child = Bun.spawn(["bash", "-m"], {
      cwd: home,
      env,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.reader = this.child.stdout.getReader();
  }

  /** @returns its output, including errors */
  async run(commands: string): Promise<string> {
    const end = `end ${++this.count}`;
    this.child.stdin.write(`{\n${commands}\n} 2>&1; echo; echo "${end}"\n`);
    await this.child.stdin.flush();
    const decoder = new TextDecoder();
    while (!this.text.includes(`\n${end}\n`)) {
      const { value, done } = await this.reader.read();
      if (done) throw new Error(`the shell ended: ${this.text}`);
      this.text += decoder.decode(value, { stream: true });
    }
    const [printed = ""] = this.text.split(`\n${end}\n`);
    this.text = "";
    return printed;
  }

  async stop(): Promise<void> {
    // Without a terminal, jobs have no process group: each server exits after its launcher.
    await this.run("kill -9 $(jobs -p) || true");
    this.child.kill();
  }
}

/** Returns a code block of the page, with this test's ports and database. */
const block = (n: number, address: string) =>
  BLOCKS[n]!.replaceAll(/\b820(?=[$\d])/g, ports.api)
    .replaceAll(/\b821(?=[$\d])/g, ports.admin)
    .replace(/postgres:\/\/\S+/, address);

/** Returns a code block in which a small release replaces the build. */
function built(n: number, release: number, address: string): string {
  const text = block(n, address);
  if (!BUILD.test(text)) throw new Error("no step builds the data");
  smallRelease(join(folder, "builder"), release);
  return text.replace(BUILD, "");
}

const address = SMALL_NETWORK.replace("0/24", "142");
const lookUp = async (host: number, path: string, key: string) =>
  fetch(`http://127.0.0.1:${ports.api}${host}/v1/ip-intel/${path}/${address}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
const log = (host: number) => readFileSync(join(folder, `host${host}.log`), "utf8");

beforeAll(async () => {
  postgres = await Postgres.create();
  const bin = join(home, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "inkling"), `#!/bin/sh\nexec node ${ROOT}/packages/cli/bin/inkling.mjs "$@"\n`);
  chmodSync(join(bin, "inkling"), 0o755);
  const tens = (other?: string): string => {
    const prefix = String(Math.floor(freePort() / 10));
    return prefix !== other && HOSTS.every((n) => isFree(Number(`${prefix}${n}`))) ? prefix : tens(other);
  };
  const api = tens();
  ports = { api, admin: tens(api) };
  shell = new Shell(bin);
});
afterAll(async () => {
  await shell?.stop();
  await postgres?.close();
});

test("every step does what the page writes", async () => {
  expect(BLOCKS).toHaveLength(5);
  const url = await postgres.freshDatabase();
  await shell.run(built(0, 1, url));
  for (const host of HOSTS) {
    await until(() =>
      fetch(`http://127.0.0.1:${ports.api}${host}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  }
  await until(async () => {
    const counted = await shell.run(
      HOSTS.map((n) => `curl -s 127.0.0.1:${ports.admin}${n}/metrics | grep ^inkling_group_hosts`).join("\n"),
    );
    return counted.match(/^inkling_group_hosts 3$/gm)?.length === 3;
  });

  const looked = await shell.run(block(1, url));
  expect(looked.match(/^inkling_group_hosts 3$/gm)).toHaveLength(3);
  const key = (await shell.run('echo "$key"')).trim();
  for (const host of HOSTS) await until(async () => (await lookUp(host, "reputation", key)).status === 200);
  expect((await shell.run("look")).match(/ 200$/gm)).toHaveLength(3);

  const [add = "", remove = ""] = block(2, url).split(/(?<=^look.*\n)(?=inkling)/m);
  await shell.run(add);
  const isFlagged = async (host: number) =>
    ((await (await lookUp(host, "reputation", key)).json()) as { is_tor_exit: boolean }).is_tor_exit;
  for (const host of HOSTS) await until(() => isFlagged(host));
  expect((await shell.run("look")).match(/"is_tor_exit":true/g)).toHaveLength(3);
  await shell.run(remove);
  for (const host of HOSTS) await until(async () => !(await isFlagged(host)));
  expect((await shell.run("look")).match(/"is_tor_exit":false.* 200$/gm)).toHaveLength(3);
  await shell.run("inkling keys revoke $(inkling keys list --json | grep -o 'key_[0-9A-Za-z]*' | head -n 1)");
  for (const host of HOSTS) await until(async () => (await lookUp(host, "reputation", key)).status === 401);
  expect((await shell.run("look")).match(/ 401$/gm)).toHaveLength(3);

  const other = (await shell.run("inkling keys create --name other")).trim().split("\n").at(-1)!;
  for (const host of HOSTS) await until(async () => (await lookUp(host, "geolocate", other)).status === 200);
  const cities = async () => {
    const read = async (host: number) =>
      ((await (await lookUp(host, "geolocate", other)).json()) as { city?: { name?: string } }).city?.name;
    return Promise.all(HOSTS.map(read));
  };
  const steps = built(3, 2, url).trim().split("\n");
  expect(steps.map((step) => step.split(" ").slice(1, 3).join(" "))).toEqual([
    "feeds disable",
    "channel publish",
    "channel rollback",
    "channel status",
    "hosts",
  ]);
  const all = (n: number) => until(async () => (await cities()).every((city) => city === smallCity(n)));
  const [disable = "", publish = "", rollback = "", status = "", hosts = ""] = steps;
  expect(await shell.run(disable)).toContain("ipsum-3");
  expect(await shell.run(publish)).not.toContain("inkling: ");
  await all(2);
  expect(await shell.run(rollback)).not.toContain("inkling: ");
  await all(1);
  expect(await shell.run(status)).toContain("servers: 3 of 3 in this database use it");
  expect((await shell.run(hosts)).match(/:\d{4,5}\b/g)?.length).toBeGreaterThanOrEqual(3);

  await postgres.kill();
  for (const host of HOSTS) {
    await until(
      () => log(host).includes('"group-unreachable"') && log(host).includes('"database-unreachable"'),
    );
    expect((await lookUp(host, "geolocate", other)).status).toBe(200);
  }
  await postgres.start();
  for (const host of HOSTS) await until(() => log(host).includes('"group-back"'));
  await shell.run(block(4, url));
  await until(() =>
    lookUp(3, "geolocate", other).then(
      () => false,
      () => true,
    ),
  );
  for (const host of [1, 2]) expect((await lookUp(host, "geolocate", other)).status).toBe(200);
});
