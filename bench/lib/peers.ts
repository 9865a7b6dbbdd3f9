// peers.ts: finds the programs for comparison on this machine, compiles those in C, and installs the npm packages.
//
// A missing program is reported with the command that installs it.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, ROOT } from "./data.ts";
import { output } from "./proc.ts";
import { log, type Run } from "./record.ts";

export const BENCH = join(ROOT, "bench");
export const PEERS = join(BENCH, "peers");
export const APT =
  "apt-get install nginx libnginx-mod-http-geoip2 libmaxminddb-dev wrk nghttp2-client gcc curl iproute2";
const NGINX_MODULE = "/usr/lib/nginx/modules/ngx_http_geoip2_module.so";

const missing = (run: Run | undefined, who: string, why: string, install = APT): void =>
  run?.add({ type: "missing", who, why, install });

/** Is a command installed? If not, records `who` as missing. */
export function hasCommand(run: Run | undefined, command: string, who: string): boolean {
  const isThere = Bun.which(command) !== null;
  if (!isThere) missing(run, who, `${command} is not installed`);
  return isThere;
}

/** Compiles a C program of peers/ once for each version of its source. @returns its path; undefined if that fails */
export function compiled(name: string, libraries: readonly string[] = [], run?: Run): string | undefined {
  const source = join(PEERS, `${name}.c`);
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  const program = join(cacheFolder("programs"), `${name}-${digest}`);
  if (existsSync(program)) return program;
  if (!hasCommand(run, "gcc", `peers/${name}.c`)) return undefined;
  const { success, stderr } = Bun.spawnSync(["gcc", "-O2", "-o", program, source, ...libraries]);
  if (success) return program;
  missing(run, `peers/${name}.c`, stderr.toString().split("\n")[0]!);
  return undefined;
}

/** Records what the operating system takes for a new page of memory and for a system call, in one row each. */
export async function recordKernel(run: Run): Promise<void> {
  const program = compiled("kernel", [], run);
  if (program === undefined) return;
  const rounds: number[][] = [];
  while (rounds.length < run.size(5, 1)) rounds.push((await output([program])).split(" ").map(Number));
  const row = (who: string, place: number) => {
    const values = rounds.map((round) => round[place]!);
    run.row("what the operating system takes", who, "CPU, ns", values);
  };
  row("first use of 4 KB of memory, which is a page fault", 0);
  row("a system call", 1);
}

/** @returns the path of the geoip2 module; undefined if nginx cannot be measured */
export function nginxModule(run: Run): string | undefined {
  if (!hasCommand(run, "nginx", "nginx + geoip2")) return undefined;
  if (existsSync(NGINX_MODULE)) return NGINX_MODULE;
  missing(run, "nginx + geoip2", "its module is not installed");
  return undefined;
}

function isInstalled(): boolean {
  const [installed, lock] = ["node_modules/.package-lock.json", "package-lock.json"].map((name) =>
    join(BENCH, name),
  );
  return existsSync(installed!) && statSync(installed!).mtimeMs >= statSync(lock!).mtimeMs;
}

/** Installs the packages of bench/package.json if they are missing. @returns whether they are installed */
export async function installPackages(): Promise<boolean> {
  if (isInstalled()) return true;
  log("installing the packages of bench/ (of the plots, once)");
  const command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  await Bun.spawn(command, { cwd: BENCH, stdout: "ignore", stderr: "inherit" }).exited;
  return isInstalled();
}

/** Returns the first line that a command prints about its version, on either stream. */
export function versionOf(...command: string[]): string {
  const { stdout, stderr } = Bun.spawnSync(command);
  return `${stdout}${stderr}`.trim().split("\n")[0]!;
}
