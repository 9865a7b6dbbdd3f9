// arrivals.ts: what `inkling up` prints in a terminal once the data that its first release lacked has arrived.

import type { Settings } from "@inkling/contract";
import type { Release } from "@inkling/engine";
import { dataGaps } from "../terminal/release-tables.ts";
import type { Style } from "../terminal/terminal.ts";
import { type BuildResult, isOffline, unreachedText } from "./build.ts";

type Gaps = Pick<Release, "missing" | "partial">;

const OFFLINE =
  "Offline: no list of proxies or abusers could be fetched, so reputation lookups return 503. Stop with Ctrl-C, then set INKLING_MIRROR to a folder of feeds, or start with --allow-missing.";

export class Arrivals {
  private readonly allowMissing: boolean;
  private gaps: Gaps;
  private saidUnreached = false;

  /** @param release the release that the server started with */
  constructor(release: Gaps, { allowMissing }: Pick<Settings, "allowMissing">) {
    this.allowMissing = allowMissing;
    this.gaps = release;
  }

  /**
   * @param seconds since the server started
   * @returns what to print after a build; undefined if it changes nothing for a user who waits for data
   */
  after(result: BuildResult, seconds: number, style: Style): string | undefined {
    const { release, unreached } = result.done;
    const before = this.gaps;
    this.gaps = release;
    const rest = dataGaps(release, style).map((gap) => `  ${gap}`);
    if (countGaps(release) < countGaps(before)) {
      const isComplete = release.missing.length === 0 && before.missing.length > 0;
      const what = isComplete ? "Proxy and abuse lists loaded" : "More lists loaded";
      return [style.bold(`${what} (${Math.round(seconds)} s).`), ...rest].join("\n");
    }
    if (countGaps(release) === 0 || this.saidUnreached || unreached.length === 0) return undefined;
    this.saidUnreached = true;
    if (isOffline(result) && release.missing.length > 0 && !this.allowMissing) return OFFLINE;
    return [`${unreachedText(unreached)} Inkling retries them.`, ...rest].join("\n");
  }
}

const countGaps = ({ missing, partial }: Gaps) => missing.length + partial.length;
