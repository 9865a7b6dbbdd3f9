// packaged-program.ts: exercises a packaged program: every process that the command starts, and every file that comes
// with it.

import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./ports.ts";
import { SMALL_NETWORK, smallCity, smallRelease, temporaryFolder } from "./release.ts";
import { until } from "./until.ts";

const IP = SMALL_NETWORK.replace("0/24", "7");
const { INKLING_MIRROR: _, INKLING_VECTORS: __, ...inherited } = process.env;

export interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

/**
 * The words before the arguments, or a function that returns the whole command from arguments and settings.
 */
type Command =
  | readonly string[]
  | ((args: readonly string[], settings: Readonly<Record<string, string>>) => string[]);

/** A program in a separate folder, where it finds no settings and no files of a clone. */
export class PackagedProgram {
  readonly folder: string;
  readonly dataDir: string;
  private readonly command: Command;
  private readonly port = freePort();
  private readonly adminPort = freePort();

  /** @param folder where the program runs; an empty folder by default */
  constructor(command: Command, folder = temporaryFolder()) {
    this.command = command;
    this.folder = folder;
    this.dataDir = join(folder, "data");
  }

  private spawn(args: readonly string[], input = "") {
    const { command } = this;
    const settings = {
      INKLING_OFFLINE: "1",
      INKLING_WORKERS: "2",
      INKLING_PORT: String(this.port),
      INKLING_ADMIN_PORT: String(this.adminPort),
    };
    return Bun.spawn(typeof command === "function" ? command(args, settings) : [...command, ...args], {
      cwd: this.folder,
      env: { ...inherited, ...settings },
      stdin: Buffer.from(input),
      stdout: "pipe",
      stderr: "pipe",
    });
  }

  async run(args: readonly string[], input?: string): Promise<Ended> {
    const child = this.spawn(args, input);
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { out, err, code };
  }

  /** Runs a command that must succeed, and returns its trimmed output. */
  async output(args: readonly string[], input?: string): Promise<string> {
    const { out, err, code } = await this.run(args, input);
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${out}${err}`);
    return out.trim();
  }

  async get(path: string, token?: string): Promise<Response> {
    return this.request(this.port, path, token);
  }

  async admin(path: string, token?: string, body?: object): Promise<Response> {
    return this.request(this.adminPort, path, token, body);
  }

  private request(port: number, path: string, token?: string, body?: object): Promise<Response> {
    return fetch(`http://127.0.0.1:${port}${path}`, {
      headers: {
        "Content-Type": "application/json",
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
  }

  /**
   * Serves while `use` runs.
   * @returns the server's log
   */
  async whileServing(command: "serve" | "up", use: () => Promise<void>): Promise<string> {
    const child = this.spawn([command]);
    const log = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    try {
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${await log}`);
        return (await this.get("/readyz").catch(() => undefined))?.ok;
      });
      await use();
    } finally {
      child.kill("SIGTERM");
    }
    expect([0, 143]).toContain(await child.exited); // npx exits with 143
    return (await log).join("");
  }
}

/** Uses a small release to exercise each process, the thread, and each kind of file. */
export async function walk(program: PackagedProgram): Promise<void> {
  smallRelease(program.dataDir, 1);
  smallRelease(program.dataDir, 2);
  const key = await program.output(["keys", "create", "--name", "test"]);
  const admin = await program.output(["admin-tokens", "rotate"]);

  const log = await program.whileServing("serve", async () => {
    const place = await program.get(`/v1/ip-intel/geolocate/${IP}`, key);
    expect(await place.json()).toMatchObject({ city: { name: smallCity(2) } });
    const metrics = async () => (await program.admin("/metrics")).text();
    await until(async () => (await metrics()).includes('inkling_workers{state="serving"} 2'));

    for (const path of [
      "/docs",
      "/docs/swagger-ui.css",
      "/docs/swagger-ui-bundle.js",
      "/docs/errors",
      "/openapi.json",
    ])
      expect([path, (await program.get(path)).status]).toEqual([path, 200]);
    const page = await (await program.admin("/")).text();
    const files = [...page.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path]) => path!);
    expect(files.length).toBeGreaterThan(2);
    for (const path of files) expect([path, (await program.admin(path)).status]).toEqual([path, 200]);

    const found = await program.admin("/admin/v1/lookup", admin, { values: [IP] });
    expect(JSON.stringify(await found.json())).toContain(smallCity(2)); // process "lookup"
    const { releases } = (await (await program.admin("/admin/v1/data/releases", admin)).json()) as {
      releases: { name: string }[];
    };
    const changes = await program.admin(`/admin/v1/data/releases/${releases[0]!.name}/changes`, admin);
    expect([changes.status, await changes.json()]).toMatchObject([200, { before: releases[1]!.name }]); // "diff"

    smallRelease(program.dataDir, 3); // "verify", then the workers open it
    await until(async () => {
      const { city } = (await (await program.get(`/v1/ip-intel/geolocate/${IP}`, key)).json()) as {
        city: { name: string };
      };
      return city.name === smallCity(3);
    });
  });
  expect(log).not.toContain('"level":"error"');

  const enriched = await program.output(["enrich", "-", "--add", "city_name"], `ip\n${IP}\n`); // the thread
  expect(enriched).toContain(smallCity(3));
  writeFileSync(join(program.dataDir, "feeds.json"), "{");
  const build = await program.run(["data", "update"]); // the compiler, which refuses immediately
  expect([build.code, build.err]).toEqual([1, expect.stringContaining("feeds.json is not JSON")]);
}

/** Starts from an empty folder, so that the data is built from the seeds. */
export async function walkFirstStart(program: PackagedProgram): Promise<void> {
  await program.whileServing("up", async () => {
    const key = await program.output(["keys", "create", "--name", "test"]);
    const path = "/v1/ip-intel/geolocate/81.2.69.142";
    await until(async () => (await program.get(path, key)).status !== 401); // keys are read once a second
    const place = await program.get(path, key);
    expect([place.status, await place.json()]).toMatchObject([200, { country: { iso_code: "GB" } }]);
  });
}
