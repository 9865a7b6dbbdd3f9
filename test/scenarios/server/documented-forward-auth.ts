// documented-forward-auth.ts: runs the configurations in docs/proxies.md, unchanged, between visitors and an
// application. documented-config.test.ts starts it in its own mount and network namespaces, where every
// address is free.
//
// The key is a sandbox key, bound to the proxy's address. The visitors are addresses from docs/sandbox.md.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { temporaryFolder } from "../../harness/release.ts";
import { startSmallServer } from "../../harness/server.ts";
import { until } from "../../harness/until.ts";

export interface Given {
  /** Contents by path. In each, the page's key is replaced by a real key. */
  readonly files: Readonly<Record<string, string>>;
  /** Each must succeed. The last one runs the proxy. */
  readonly commands: readonly (readonly string[])[];
}

/** The result of one request through the proxy. */
export interface Passed {
  readonly status: number;
  /**
   * Inkling-Flags and Inkling-Country as the application received them. Null if there was none, or the
   * request did not arrive.
   */
  readonly flags: string | null;
  readonly country: string | null;
}

export interface Judged {
  readonly ordinary: Passed;
  readonly tor: Passed;
  /** A visitor that claims to be another, and sends other flags. */
  readonly forged: Passed;
  /** A POST with a body, a long cookie, and credentials for the application. */
  readonly post: Passed;
  readonly loopback: Passed;
  /** A visitor about whom Inkling returns 503. */
  readonly undecided: Passed;
  /** Statuses without Inkling, for a visitor whose verdict was known and for a new one. */
  readonly away: readonly [known: number, unknown: number];
  /** Number of lookups at Inkling, although the ordinary visitor sent three requests. */
  readonly lookups: number;
}

const KEY = "ink_live_…";
const VISITORS = {
  ordinary: "192.0.2.1",
  tor: "192.0.2.6",
  undecided: "203.0.113.17",
  late: "192.0.2.2",
};

function run(...args: string[]): void {
  const { success, stdout, stderr } = Bun.spawnSync(args);
  if (!success) throw new Error(`${args.join(" ")}: ${stderr}${stdout}`);
}

/** Starts the application, which returns what it received. */
function startApplication() {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 3000,
    fetch: async (request) => {
      const text = await request.text();
      const { headers } = request;
      const isWhole =
        request.method !== "POST" || (text === "order" && headers.get("authorization") === "Basic x");
      return Response.json(
        { flags: headers.get("inkling-flags"), country: headers.get("inkling-country") },
        { status: isWhole ? 200 : 418 },
      );
    },
  });
}

async function send(visitor: string, init: RequestInit = {}): Promise<Passed> {
  // The address to which the client connects belongs to this machine, so it becomes the visitor's address as well.
  const response = await globalThis
    .fetch(`http://${visitor}/`, { ...init, keepalive: false })
    .catch(() => undefined);
  const body = await response?.text();
  const seen = response?.status === 200 ? JSON.parse(body!) : { flags: null, country: null };
  return { status: response?.status ?? 0, ...seen };
}

async function lookupsOf(adminPort: number | undefined): Promise<number> {
  const text = await (await globalThis.fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return [...text.matchAll(/^inkling_lookups_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

if (import.meta.main) {
  const { files, commands }: Given = JSON.parse(process.argv[2] ?? "");
  run("ip", "link", "set", "lo", "up");
  for (const address of Object.values(VISITORS)) run("ip", "address", "add", `${address}/32`, "dev", "lo");
  // If nginx has run before, its folders in /var/lib/nginx belong to another user.
  const own = ["/run", "/tmp", "/var/log", "/var/cache", ...["/var/lib/nginx"].filter(existsSync)];
  const folders = new Set([...own, ...Object.keys(files).map(dirname)]);
  for (const folder of folders) run("mount", "-t", "tmpfs", "tmpfs", folder);
  const trustedProxies = ["127.0.0.1/32"];
  const { server, keys } = await startSmallServer({ port: 8080, trustedProxies }, ["127.0.0.1/32"]);
  for (const [path, text] of Object.entries(files)) writeFileSync(path, text.replaceAll(KEY, keys.test));
  for (const folder of ["/var/log/nginx", "/var/cache/nginx"]) mkdirSync(folder, { recursive: true });
  for (const command of commands.slice(0, -1)) run(...command);
  const home = temporaryFolder();
  const env = { PATH: process.env.PATH ?? "", HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
  const application = startApplication();
  const proxy = Bun.spawn([...commands.at(-1)!], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    env,
  });
  const { ordinary, tor, undecided, late } = VISITORS;
  await until(async () => proxy.exitCode !== null || (await send("127.0.0.1")).status !== 0);
  const forgery = { "X-Forwarded-For": ordinary, "Inkling-Flags": "none", "Inkling-Country": "XX" };
  const order = { Authorization: "Basic x", Cookie: `a=${"b".repeat(7_000)}` };
  const seen = {
    ordinary: await send(ordinary),
    tor: await send(tor),
    forged: await send(tor, { headers: forgery }),
    post: await send(ordinary, { method: "POST", body: "order", headers: order }),
    loopback: await send("127.0.0.1", { headers: forgery }),
    undecided: await send(undecided),
  };
  await send(ordinary);
  const lookups = await lookupsOf(server.adminPort);
  await server.stop();
  const away = [(await send(ordinary)).status, (await send(late)).status] as const;
  proxy.kill("SIGTERM");
  await proxy.exited;
  await application.stop(true);
  process.stdout.write(`${JSON.stringify({ ...seen, away, lookups } satisfies Judged)}\n`);
  process.exit(0);
}
