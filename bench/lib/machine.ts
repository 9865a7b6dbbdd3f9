// machine.ts: on what it was measured, in one line.

import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { ROOT } from "./data.ts";

export function machineLine(): string {
  const all = cpus();
  const gigabytes = Math.round(totalmem() / 1e9);
  return `${all.length} cores (${all[0]?.model ?? "unknown"}), ${gigabytes} GB, Linux ${release()}, ${distribution()}; Bun ${Bun.version}`;
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown system";
  } catch {
    return "unknown system";
  }
}

/** The commit, and whether there are changes on top of it. */
export function commitLine(): string {
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "safe.directory=*", ...args], { cwd: ROOT, stderr: "ignore" })
      .stdout.toString()
      .trim();
  const commit = git("rev-parse", "--short", "HEAD");
  if (commit === "") return "not a git checkout";
  return git("status", "--porcelain", "--", "packages", "bench/*.ts", "bench/lib", "bench/peers") === ""
    ? commit
    : `${commit} with changes`;
}
