// data-actions.ts: what the admin API can have done with the data: build now, go back, pin, go forward.
//
// in   settings; the round of builds that keeps the data fresh
// out  DataActions for the server, which knows neither the compiler nor the commands
// err  CliError with a hint, as the commands have it

import { FEEDS } from "@inkling/compiler/feeds";
import type { DataActions, FeedFacts, Switched, UpdateState } from "@inkling/server";
import type { Settings } from "../config/settings.ts";
import { CliError } from "../terminal/errors.ts";
import type { BuildResult } from "./build-process.ts";
import { openCurrent, pin } from "./releases.ts";

const FACTS: readonly FeedFacts[] = FEEDS.map(({ id, title, homepage, cadenceHours, age }) => ({
  id,
  title,
  homepage,
  cadence_hours: cadenceHours,
  stale_hours: age.staleHours,
}));

/** How building stands, and whether somebody asked for it: between the admin API and keep-fresh.ts. */
export class Updates {
  private asked = false;
  private running = false;
  private last: UpdateState["last"] = null;

  get isAsked(): boolean {
    return this.asked;
  }

  get state(): UpdateState {
    const { asked, running, last } = this;
    return { asked, running, last };
  }

  ask(): void {
    this.asked = true;
  }

  /** Runs a build. @param work told whether all feeds are to be asked, not only those that are due */
  async run(work: (isWanted: boolean) => Promise<BuildResult>): Promise<BuildResult> {
    const isWanted = this.asked;
    this.asked = false;
    this.running = true;
    try {
      const result = await work(isWanted);
      const { name, published, seconds } = result.done;
      this.last = { at: now(), release: name, published, seconds };
      return result;
    } catch (error) {
      const hint = error instanceof CliError ? (error.hint ?? null) : null;
      this.last = { at: now(), problem: error instanceof Error ? error.message : String(error), hint };
      throw error;
    } finally {
      this.running = false;
    }
  }
}

const now = () => new Date().toISOString();

/** @param command how `inkling` is run: what reads whole releases must not hold up the look-ups of this process */
export function dataActions(
  settings: Settings,
  updates: Updates,
  command: readonly string[] = [process.execPath, Bun.main],
): DataActions {
  const { dataDir } = settings;
  const data = (...words: string[]) => run([...command, "data", ...words, "--json", "--data-dir", dataDir]);
  return {
    feeds: FACTS,
    update: () => updates.state,
    updateNow: () => updates.ask(),
    rollBack: (to) => data("rollback", ...(to === undefined ? [] : [to])),
    pin: async () => {
      const { name } = openCurrent(dataDir);
      pin(dataDir, name);
      return { from: name, to: name };
    },
    unpin: () => data("unpin"),
  };
}

/** Runs a command that prints JSON with `from` and `to`. @throws CliError with what it says */
async function run(command: readonly string[]): Promise<Switched> {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (child.exitCode === 0) {
    const { from, to } = JSON.parse(out) as Switched;
    return { from, to };
  }
  const line = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(err)?.[1];
  throw new CliError(line("inkling") ?? err.trim().slice(0, 500), line("hint"));
}
