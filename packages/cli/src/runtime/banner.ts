// banner.ts: formats what `inkling up` prints once it serves: addresses, data, keys, and examples to try.

import type { Settings } from "@inkling/contract";
import { feedsOf } from "@inkling/data";
import type { LoadedRelease, Lookup, Release } from "@inkling/engine";
import { localUrl } from "../config/settings.ts";
import { attributions, dataAge, dataGaps, oldestData } from "../terminal/release-tables.ts";
import { formatAge, formatAgo, type Style } from "../terminal/terminal.ts";
import { type BuildResult, isOffline, unreachedText } from "./build.ts";
import type { KeysOf } from "./keys.ts";

interface BannerInput {
  readonly settings: Settings;
  readonly current: LoadedRelease;
  readonly keys: KeysOf;
  /** The file that contains the new keys. If set, the banner does not show them. */
  readonly keysFile: string | undefined;
  readonly version: string;
  /** Are updates running while the user reads this? */
  readonly updates: boolean;
  readonly style: Style;
}

export function banner({ settings, current, keys, keysFile, version, updates, style }: BannerInput): string {
  const base = localUrl(settings.host, settings.port);
  const now = new Date();
  const built = formatAgo(now.getTime() - Date.parse(current.manifest.created_at));
  const feeds = feedsOf(settings.dataDir, current);
  const age = dataAge(feeds, now);
  const created = keysFile === undefined ? keys.created?.live : undefined;
  const key = created ?? (settings.apiKey === undefined ? "$KEY" : "$INKLING_API_KEY");
  const parts = [
    [
      style.bold(`Inkling ${version} answers on ${base}`),
      style.dim(
        `release ${current.name}, built ${built}${oldestData(feeds, now)}; reference on ${base}/docs, console on ${localUrl(settings.adminHost, settings.adminPort)}/`,
      ),
      ...(age === "" ? [] : [style.dim(`age of its data: ${age}`)]),
    ],
    gapsPart(current, updates, style),
    ...(keysFile === undefined
      ? [keysPart(keys, style), adminPart(keys, style)]
      : [filePart(keys, keysFile)]),
    [
      "Try:",
      ...EXAMPLES.flatMap(([lookup, path]) => {
        const lacking = settings.allowMissing ? [] : current.states[lookup].missing;
        const until = `    # 503 until lists for ${lacking.join(" and ")} are loaded, or with --allow-missing`;
        const line = `  curl -H "Authorization: Bearer ${key}" ${base}${path}`;
        return lacking.length === 0 ? [line] : [line, style.dim(until)];
      }),
    ],
    attributions(current.manifest.feeds).map((text) => style.dim(text)),
    ["Ctrl-C stops."],
  ];
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n");
}

function gapsPart(current: LoadedRelease, updates: boolean, style: Style): string[] {
  const gaps = dataGaps(current.manifest, style);
  if (gaps.length === 0) return [];
  return [
    "This data is incomplete:",
    ...gaps.map((gap) => `  ${gap}`),
    style.dim(
      updates
        ? "  fetching it now; a line below says when it has arrived, or why not"
        : "  run `inkling data status` to see every feed and why data is missing",
    ),
  ];
}

function keysPart({ created, live, sandbox }: KeysOf, style: Style): string[] {
  if (created === undefined) {
    return [
      `Active keys: ${live} live, ${sandbox} sandbox. Set yours in the shell: export KEY=ink_live_…`,
      style.dim("  lost it? `inkling keys create` creates another"),
    ];
  }
  return [
    `Your keys, ${style.bold("shown only once")}:`,
    `  live     ${created.live}`,
    `  sandbox  ${created.sandbox}  ${style.dim("fixed answers, for tests")}`,
  ];
}

function filePart({ created }: KeysOf, path: string): string[] {
  const what = created === undefined ? "Your admin token is" : "Your keys and your admin token are";
  return [
    `${what} in ${path}, which only your user can read, because this output is not a terminal.`,
    "  Store them elsewhere, then delete the file. Set the live key in the shell: export KEY=ink_live_…",
  ];
}

function adminPart({ adminToken }: KeysOf, style: Style): string[] {
  if (adminToken === undefined) return [];
  return [
    `Your admin token, ${style.bold("shown only once")}; the console and the admin API require it:`,
    `  ${adminToken}`,
  ];
}

const EXAMPLES: readonly (readonly [lookup: Lookup, path: string])[] = [
  ["geolocate", "/v1/ip-intel/geolocate/81.2.69.142"],
  ["reputation", "/v1/ip-intel/reputation/185.220.101.1"],
  ["email", "/v1/user-intel/email/someone@mailinator.com"],
];

type Gaps = Pick<Release, "missing" | "partial">;

const OFFLINE =
  "Offline: no list of proxies or abusers could be fetched, so reputation lookups return 503. Stop with Ctrl-C, then set INKLING_MIRROR to a folder of feeds, or start with --allow-missing.";

/** What `inkling up` prints in a terminal once the data that its first release lacked has arrived. */
export class Arrivals {
  private readonly allowMissing: boolean;
  private readonly startedAt: number;
  private gaps: Gaps;
  /** Why data has not arrived, as printed last. */
  private said: "waiting" | "unreached" | undefined;

  /** @param release the release that the server started with */
  constructor(release: Gaps, { allowMissing }: Pick<Settings, "allowMissing">, now = Date.now()) {
    this.allowMissing = allowMissing;
    this.startedAt = now;
    this.gaps = release;
  }

  /** @returns what to print after a build; undefined if it changes nothing for a user who waits for data */
  after(result: BuildResult, style: Style, now = Date.now()): string | undefined {
    const { release, unreached, nextDue } = result.done;
    const before = this.gaps;
    this.gaps = release;
    const rest = dataGaps(release, style).map((gap) => `  ${gap}`);
    if (countGaps(release) < countGaps(before)) {
      const isComplete = release.missing.length === 0 && before.missing.length > 0;
      const what = isComplete ? "Proxy and abuse lists loaded" : "More lists loaded";
      const seconds = Math.round((now - this.startedAt) / 1000);
      return [style.bold(`${what} (${seconds} s).`), ...rest].join("\n");
    }
    if (countGaps(release) === 0 || this.said === "unreached") return undefined;
    if (unreached.length === 0) {
      const wait = nextDue === undefined ? 0 : Date.parse(nextDue) - now;
      if (this.said !== undefined || wait < 1000) return undefined;
      this.said = "waiting";
      return `The missing data has not arrived; \`inkling data status\` shows why. The next feed is due in ${formatAge(wait)}.`;
    }
    this.said = "unreached";
    if (isOffline(result) && release.missing.length > 0 && !this.allowMissing) return OFFLINE;
    return [`${unreachedText(unreached)} Inkling retries them.`, ...rest].join("\n");
  }
}

const countGaps = ({ missing, partial }: Gaps) => missing.length + partial.length;
