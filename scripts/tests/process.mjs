// process.mjs: runs one process of the tests and keeps what it printed.
//
// Each has a process group of its own, which is killed when the process has ended or this one is stopped: no server
// outlives its test. (Bun's --no-orphans does as much, but by a variable that the servers under test inherit.)

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join } from "node:path";
import { ROOT } from "../install.mjs";

/** Characters of output kept: the end of it. */
const OUTPUT_KEPT = 200_000;
const MINUTE_MS = 60_000;
/** How long the pipes of a process that ended are read. */
const PIPES_MS = 1_000;

const WINDOWS = process.platform === "win32";

/** A program that npm installed. */
export const binary = (name) => join(ROOT, "node_modules/.bin", WINDOWS ? `${name}.cmd` : name);

const groups = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    for (const pid of groups) killGroup(pid);
    process.exit(128 + constants.signals[signal]);
  });
}

function killGroup(pid) {
  try {
    process.kill(WINDOWS ? pid : -pid, "SIGKILL");
  } catch {
    // It is gone.
  }
}

/**
 * @param {{ minutes: number, env?: Record<string, string>, cwd?: string }} options after so many minutes it is killed
 * @returns {Promise<{ problem: string | undefined, output: string }>} how it failed, in words
 */
export function runProcess(command, args, { minutes, env = {}, cwd = ROOT }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: !WINDOWS,
      shell: WINDOWS,
    });
    groups.add(child.pid);
    let output = "";
    let late = false;
    const keep = (text) => {
      output = (output + text).slice(-OUTPUT_KEPT);
    };
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    const timer = setTimeout(() => {
      late = true;
      killGroup(child.pid);
    }, minutes * MINUTE_MS);
    const end = (problem) => {
      clearTimeout(timer);
      resolve({ problem, output });
    };
    child.on("error", (error) => end(error.message));
    child.on("exit", (status, signal) => {
      killGroup(child.pid);
      groups.delete(child.pid);
      let problem;
      if (late) problem = `killed: it took longer than ${minutes} minutes`;
      else if (status !== 0) problem = signal ? `killed by ${signal}` : `ended with exit code ${status}`;
      child.on("close", () => end(problem));
      // A detached process that the child left behind may hold the pipes open.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, PIPES_MS).unref();
    });
  });
}
