// arrivals.ts: what `inkling up` prints in a terminal once the data that its first release lacked has arrived.

import type { Release } from "@inkling/engine";
import { dataGaps } from "../terminal/release-tables.ts";
import type { Style } from "../terminal/terminal.ts";
import { type BuildResult, unreachedText } from "./build.ts";

type Gaps = Pick<Release, "missing" | "partial">;

export class Arrivals {
  private gaps: number;
  private saidUnreached = false;

  /** @param release the release that the server started with */
  constructor(release: Gaps) {
    this.gaps = count(release);
  }

  /** @returns what to print after a build; undefined if it changes nothing for a user who waits for data */
  after({ done }: BuildResult, style: Style): string | undefined {
    const before = this.gaps;
    const now = count(done.release);
    this.gaps = now;
    const rest = dataGaps(done.release, style).map((gap) => `  ${gap}`);
    if (now < before) {
      const head = style.bold(now === 0 ? "All lists have arrived." : "More lists have arrived.");
      return [`${head} The server answers from release ${done.name}.`, ...rest].join("\n");
    }
    if (now === 0 || this.saidUnreached || done.unreached.length === 0) return undefined;
    this.saidUnreached = true;
    return [`${unreachedText(done.unreached)} Inkling retries them.`, ...rest].join("\n");
  }
}

const count = ({ missing, partial }: Gaps) => missing.length + partial.length;
