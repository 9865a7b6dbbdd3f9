// peers.ts: which of those that we compare with are on this machine, and how they are brought.
//
// A peer that is not there is told as missing, with the command that installs it: never guessed, never left out.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, ROOT } from "./data.ts";
import { emit, tell } from "./record.ts";

export const BENCH = join(ROOT, "bench");
export const PEERS = join(BENCH, "peers");
const APT = "apt-get install -y nginx libnginx-mod-http-geoip2 libmaxminddb-dev mmdb-bin wrk gcc";
const NGINX_MODULE = "/usr/lib/nginx/modules/ngx_http_geoip2_module.so";

/** libmaxminddb's program. @returns its path; undefined when it cannot be made */
export const libmaxminddb = () => compiled("libmaxminddb", "libmaxminddb (C)", ["-lmaxminddb"]);

/** The client of requests at a fixed rate. @returns its path; undefined when it cannot be made */
export const pacedClient = () => compiled("paced", "requests at a fixed rate (client in C)", []);

/** Compiles a C program once for each version of its source. */
function compiled(name: string, who: string, libraries: readonly string[]): string | undefined {
  const source = join(PEERS, `${name}.c`);
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  const program = join(cacheFolder("programs"), `${name}-${digest}`);
  if (existsSync(program)) return program;
  if (Bun.which("gcc") === null) return gone(who, "gcc is not installed");
  const made = Bun.spawnSync(["gcc", "-O2", "-o", program, source, ...libraries], { stderr: "pipe" });
  if (made.success) return program;
  return gone(who, made.stderr.toString().trim().split("\n")[0] ?? "it does not compile");
}

const areNpmPeersHere = (): boolean => {
  const lock = join(BENCH, "package-lock.json");
  const installed = join(BENCH, "node_modules/.package-lock.json");
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
};

/** Installs the peers that come from npm, in bench/ alone, when they are missing. */
export async function bringNpmPeers(): Promise<void> {
  if (areNpmPeersHere()) return;
  tell("installing the peers that come from npm into bench/node_modules (180 MB, once)");
  const command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  await Bun.spawn(command, { cwd: BENCH, stdout: "ignore", stderr: "inherit" }).exited;
}

/** @returns whether the peers that come from npm are there, or could be brought */
export async function npmPeers(): Promise<boolean> {
  if (process.env.INKLING_BENCH_READY !== "1") await bringNpmPeers(); // otherwise main.ts has tried
  if (areNpmPeersHere()) return true;
  for (const who of ["npm maxmind", "npm mmdb-lib", "npm geoip-lite", "Fastify + maxmind"]) {
    emit({ type: "missing", who, why: "npm could not install it", install: "npm install --prefix bench" });
  }
  return false;
}

/** @returns path of the geoip2 module when nginx can be measured */
export function nginxModule(): string | undefined {
  if (Bun.which("nginx") === null) return gone("nginx + geoip2", "nginx is not installed");
  return existsSync(NGINX_MODULE) ? NGINX_MODULE : gone("nginx + geoip2", `${NGINX_MODULE} is not there`);
}

/** The version of the package that brings nginx's module: the module does not tell its own. */
export const nginxModuleVersion = (): string =>
  versionOf(["dpkg-query", "--show", "libnginx-mod-http-geoip2"]).replace("\t", " ");

/** The version of a peer from npm, once it is installed. */
export const npmVersion = (name: string): string =>
  JSON.parse(readFileSync(join(BENCH, "node_modules", name, "package.json"), "utf8")).version;

/** Without wrk there is no load, and nothing is measured over HTTP. */
export function hasWrk(): boolean {
  return Bun.which("wrk") !== null || gone("wrk (the client)", "it is not installed") !== undefined;
}

/** A Node to run npm's readers and our engine on. */
export function findNode(): string | undefined {
  return Bun.which("node") ?? undefined;
}

function gone(who: string, why: string): undefined {
  emit({ type: "missing", who, why, install: APT });
  return undefined;
}

/** First line of what a command says of its version, on either stream. */
export function versionOf(command: readonly string[]): string {
  try {
    const said = Bun.spawnSync([...command], { stdout: "pipe", stderr: "pipe" });
    return `${said.stdout}${said.stderr}`.trim().split("\n")[0] ?? "";
  } catch {
    return "not installed";
  }
}
