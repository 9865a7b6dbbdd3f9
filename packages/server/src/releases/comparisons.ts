// comparisons.ts: compares releases in a separate process, and keeps each result until the releases' files change.

import { findFiles } from "@inkling/release-store";
import { processCommand } from "@inkling/release-store/program";
import type { ReleaseChanges } from "./diff.ts";
import type { ChangesAnswer } from "./diff-process.ts";
import { type ProcessEnvironment, runInProcess } from "./process.ts";

const MAX_KEPT = 50;

export class ReleaseComparisons {
  private readonly dataDir: string;
  private readonly env: ProcessEnvironment;
  private readonly kept = new Map<string, Promise<ReleaseChanges>>();

  constructor(dataDir: string, env: ProcessEnvironment) {
    this.dataDir = dataDir;
    this.env = env;
  }

  /** @throws Error if one of the releases is unsound */
  async compare(before: string, after: string): Promise<ReleaseChanges> {
    const stamps = [before, after].map((name) => findFiles(this.dataDir, name).stamps);
    const pair = JSON.stringify([before, after, stamps]);
    const known = this.kept.get(pair);
    if (known !== undefined) return known;
    if (this.kept.size >= MAX_KEPT) this.kept.clear();
    const changes = this.compareInProcess(before, after);
    this.kept.set(pair, changes);
    changes.catch(() => this.kept.delete(pair));
    return changes;
  }

  private async compareInProcess(before: string, after: string): Promise<ReleaseChanges> {
    const question = { dataDir: this.dataDir, before, after };
    const { changes, problem } = await runInProcess<ChangesAnswer>(
      processCommand("diff"),
      question,
      this.env,
    );
    if (changes === undefined) throw new Error(problem);
    return changes;
  }
}
