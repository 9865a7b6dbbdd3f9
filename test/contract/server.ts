// server.ts: the servers of the contract test, in a separate process with a stopped clock.
//
// full     complete data, overrides, X-Forwarded-For trusted from 127.0.0.0/8
// partial  data without is_proxy and with incomplete is_tor_exit, no trusted proxies
// lenient  the same data, with INKLING_ALLOW_MISSING
// empty    no release

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../../packages/cli/package.json" with { type: "json" };
import { stopClocks } from "../harness/fast-clock.ts";
import { testServerOptions } from "../harness/server-options.ts";
import { until } from "../harness/until.ts";
import { contractFeeds } from "./feeds.ts";
import { HOOK_SECRET, type Program, startProgram } from "./program.ts";

export const SERVERS = ["full", "partial", "lenient", "empty"] as const;
export type ServerName = (typeof SERVERS)[number];

export interface Started {
  readonly ports: Readonly<Record<ServerName, number>>;
  /** Tokens by the names that requests use. */
  readonly tokens: Readonly<Record<string, string>>;
}

const NOW = Date.parse("2026-08-02T12:00:00Z");
const FETCHED = new Date("2026-08-02T06:00:00Z");
const FIXTURES = resolve(import.meta.dir, "../../packages/compiler/fixtures/feeds");
const SECOND_FORMS = ["fakefilter.json", "disposable-domains.json"];

const OVERRIDES = [
  { value: "81.2.69.10", flag: "is_tor_exit", verdict: true },
  { value: "81.2.69.8/29", flag: "is_abuser", verdict: false },
  { value: "81.2.70.0/24", flag: "is_proxy", verdict: true },
  { value: "81.2.70.7", flag: "is_proxy", verdict: false },
  { value: "2a01:4f8:1::/48", flag: "is_abuser", verdict: true },
  { value: "our-shop.com", flag: "disposable", verdict: true },
  { value: "service-four.com", flag: "disposable", verdict: false },
  { value: "jane@gmail.com", flag: "disposable", verdict: true },
  { value: "81.2.71.1", flag: "is_proxy", verdict: true, expires_at: "2026-08-03T00:00:00Z" },
];

const programs: Program[] = [];

async function main(folder: string, executable?: string): Promise<Started> {
  stopClocks(NOW);
  const { build } = await import("../../packages/compiler/src/pipeline/build.ts");
  const { FEEDS } = await import("@inkling/compiler/feeds");
  const { parsePrefix } = await import("@inkling/engine");
  const { startServer } = await import("@inkling/server");
  const { openStore } = await import("@inkling/store");

  const mirror = join(folder, "mirror");
  cpSync(FIXTURES, mirror, { recursive: true });
  for (const name of SECOND_FORMS) rmSync(join(mirror, name));
  const { files } = contractFeeds((name) => readFileSync(join(FIXTURES, name), "utf8"));
  for (const [name, body] of Object.entries(files)) writeFileSync(join(mirror, name), body);
  for (const name of readdirSync(mirror)) utimesSync(join(mirror, name), FETCHED, FETCHED);

  /** @param without feeds that the data lacks */
  async function compile(name: string, without: readonly string[]): Promise<string> {
    const dataDir = join(folder, name);
    mkdirSync(dataDir);
    const choice = { enabled: ["geolite2-city", "firehol-level1"], disabled: without };
    writeFileSync(join(dataDir, "feeds.json"), JSON.stringify(choice));
    const request = { dataDir, mirror, fetch: false, onlyDue: false, accept: [], credentials: {} };
    await build(request, {
      now: () => new Date(NOW),
      emit: () => {},
      chance: () => 0.5,
      // Keeps lists from expiring, because the databases were created two months before NOW.
      feeds: FEEDS.map(({ seed: _, age, ...feed }) => ({
        ...feed,
        age: { ...age, dropHours: Number.POSITIVE_INFINITY },
        entries: { least: 0, most: 100_000 },
      })),
    });
    return dataDir;
  }

  const EVERYTHING = {
    mode: "live",
    scopes: ["geolocate", "reputation", "email"],
    networks: [],
    rate: 0,
    burst: undefined,
    quota: undefined,
    expiresAt: undefined,
  } as const;
  const KEYS = {
    live: {},
    sandbox: { mode: "test" },
    sandboxEmail: { mode: "test", scopes: ["email"] },
    emailOnly: { scopes: ["email"] },
    placesOnly: { scopes: ["geolocate"] },
    here: { networks: [parsePrefix("127.0.0.0/8")!] },
    elsewhere: { networks: [parsePrefix("81.2.69.0/24")!, parsePrefix("2a01:4f8::/32")!] },
    expired: { expiresAt: 1_000 },
    revoked: {},
    rotated: {},
    slow: { rate: 0.001, burst: 3 },
    slowBatch: { rate: 0.001, burst: 5 },
    limited: { rate: 100, burst: 200, quota: 1_000 },
    spent: { quota: 2 },
    spentBatch: { quota: 4 },
    daily: { quota: 50 },
    visitors: { scopes: ["assess"] },
    sandboxVisitors: { mode: "test", scopes: ["assess"] },
  } as const;

  /** Every server has the same tokens. */
  const tokens: Record<string, string> = {};
  async function start(
    dataDir: string,
    allowMissing: boolean,
    trustedProxies: readonly string[],
    overrides: readonly object[],
  ): Promise<number> {
    mkdirSync(dataDir, { recursive: true });
    const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
    const store = await openStore(databaseUrl, { now: () => NOW });
    for (const [name, over] of Object.entries(KEYS)) {
      const issued = await store.createKey({ ...EVERYTHING, ...over, name }, tokens[name]);
      tokens[name] = issued.token;
      if (name === "revoked") await store.revokeKey(issued.key.id);
      if (name === "rotated") await store.rotateKey(issued.key.id, NOW - 1);
    }
    const adminToken = await store.adminToken.create({ author: "contract", source: "cli" });
    await store.close();
    let ports: { readonly port: number; readonly adminPort: number };
    if (executable === undefined || !existsSync(join(dataDir, "current"))) {
      ports = await startServer({
        ...testServerOptions(dataDir),
        version: manifest.version,
        allowMissing,
        rate: 1000,
        burst: 2000,
        trustedProxies,
        dnsServers: [],
        supabaseHookSecret: [HOOK_SECRET],
        writeLog: (lines) => void (lines.includes("request-failed") && process.stderr.write(lines)),
      });
    } else {
      const program = startProgram(executable, { now: NOW, dataDir, allowMissing, trustedProxies });
      programs.push(program);
      ports = program;
      await until(async () => {
        if (program.exitCode !== null) throw new Error(`${executable} ended with ${program.exitCode}`);
        return isReady(program.port);
      });
    }
    const { port, adminPort } = ports;
    for (const override of overrides) {
      const response = await fetch(`http://127.0.0.1:${adminPort}/admin/v1/overrides`, {
        method: "POST",
        headers: { Authorization: `Bearer ${adminToken}`, "Content-Type": "application/json" },
        body: JSON.stringify({ note: "contract", ...override }),
      });
      if (!response.ok) throw new Error(`${JSON.stringify(override)}: ${await response.text()}`);
    }
    return port;
  }

  const full = await compile("full", []);
  const partial = await compile("partial", PARTIAL);
  cpSync(partial, join(folder, "lenient"), { recursive: true });
  const ports = {
    full: await start(full, false, ["127.0.0.0/8", "10.0.0.0/8"], OVERRIDES),
    partial: await start(partial, false, [], []),
    lenient: await start(join(folder, "lenient"), true, [], []),
    empty: await start(join(folder, "empty"), false, [], []),
  };
  return { ports, tokens };
}

const isReady = (port: number) =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

/** Feeds that are turned off: all lists of proxies, and one of Tor exits. */
const PARTIAL = ["x4bnet-vpn-v4", "x4bnet-vpn-v6", "monosans-proxies", "tor-onionoo", "free-mail"];

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await main(process.argv[2]!, process.argv[3]))}\n`);
  await Bun.stdin.text();
  await Promise.all(programs.map((program) => program.stop()));
  process.exit(0);
}
