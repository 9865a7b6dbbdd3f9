// answers.ts: turns answers into short texts, and finds problems and missing data in them.

import { isReputationFlag, REPUTATION_FLAGS } from "@inkling/contract";
import type {
  Answer,
  EmailVerdict,
  Flag,
  NetworkSummary,
  Reputation,
  SystemAnswer,
  ValueProblem,
} from "../../answers.ts";
import { countryName, flagName, formatPercent } from "../../format.ts";

export const isProblem = (answer: object): answer is ValueProblem => "code" in answer;

/** Is a flag false only because no feed is loaded for it? A flag that an override decides counts as known. */
export function isUnknown(reputation: Reputation, flag: Flag, missing: readonly string[]): boolean {
  if (reputation[flag] || !missing.includes(flag)) return false;
  return !reputation.evidence?.some(({ feed, flags }) => feed === "override" && flags?.includes(flag));
}

/** Returns the domain that the person probably meant, or that the domain imitates. */
export function suggestionOf(answer: Answer): string | undefined {
  if (!("email" in answer) || isProblem(answer.email)) return undefined;
  return answer.email.evidence?.find(({ did_you_mean }) => did_you_mean)?.did_you_mean;
}

/** Would this answer contain more if the data for `gap` were loaded? */
export function lacksData(answer: Answer, gap: string): boolean {
  if ("email" in answer) return gap === "disposable";
  if (answer.kind === "network" || answer.kind === "as")
    return gap !== "disposable" && summariesOf(answer).length > 0;
  if (answer.kind !== "address" || gap === "disposable") return false;
  if (!isReputationFlag(gap)) return isProblem(answer.geolocation);
  return !isProblem(answer.reputation) && isUnknown(answer.reputation, gap, [gap]);
}

/** Does the answer use the data with this name? */
export function readsData(answer: Answer, name: string): boolean {
  if ("email" in answer) return name === "disposable";
  return answer.kind !== "unknown" && name !== "disposable";
}

/** The address families of an AS. */
export const FAMILIES = [
  ["ipv4", "IPv4"],
  ["ipv6", "IPv6"],
] as const;
export type Family = (typeof FAMILIES)[number][0];

/** The verdict on a value that the server cannot read. */
export const NOT_READABLE = "not readable";

export interface Verdict {
  readonly kind: "flagged" | "clean" | "problem";
  readonly texts: readonly string[];
  /** True if no flag is set, but some flags are unknown or only a part was examined. */
  readonly isPartial?: boolean;
}

/** Returns the location as a short text. Empty if the verdict already describes the problem. */
export function locationOf(answer: Answer): string {
  if ("email" in answer) return "";
  const [summary] = summariesOf(answer);
  if (summary !== undefined) {
    const names = summary.countries.slice(0, 3).map(({ iso_code }) => countryName(iso_code));
    return names.join(", ") || "unknown";
  }
  if (!("reputation" in answer)) return "";
  const { geolocation, reputation } = answer;
  if (isProblem(reputation)) return "";
  if (isProblem(geolocation)) return geolocation.title;
  const { city, subdivisions, country } = geolocation;
  return [city.name, subdivisions[0]?.name, country.name].filter(Boolean).join(", ") || "unknown";
}

export function verdictOf(answer: Answer, missing: readonly string[]): Verdict {
  if (answer.kind === "as") return systemVerdict(answer, missing);
  if (answer.kind === "unknown") return { kind: "problem", texts: [NOT_READABLE] };
  const found = "email" in answer ? answer.email : "summary" in answer ? answer.summary : answer.reputation;
  if (isProblem(found)) return { kind: "problem", texts: [found.title] };
  const faults = faultsOf(found);
  if (faults.length === 0 && "valid" in found) return { kind: "clean", texts: ["valid"] };
  const isPartial =
    "reputation" in answer
      ? REPUTATION_FLAGS.some((flag) => isUnknown(found as Reputation, flag, missing))
      : isPartlyKnown(summariesOf(answer), missing);
  return flagsVerdict(faults, isPartial);
}

/** Returns the verdict on an AS, with the address family of each flag. */
function systemVerdict(answer: SystemAnswer, missing: readonly string[]): Verdict {
  const summaries = summariesOf(answer);
  if (summaries.length === 0) return { kind: "problem", texts: ["no networks known"] };
  const faults = FAMILIES.flatMap(([family, title]) => {
    const summary = answer.system?.[family];
    return summary === undefined ? [] : faultsOf(summary).map((fault) => `${fault} of ${title}`);
  });
  return flagsVerdict(faults, isPartlyKnown(summaries, missing));
}

const isPartlyKnown = (summaries: readonly NetworkSummary[], missing: readonly string[]) =>
  summaries.some(({ examined }) => examined < 1) || REPUTATION_FLAGS.some((flag) => missing.includes(flag));

const flagsVerdict = (faults: readonly string[], isPartial: boolean): Verdict =>
  faults.length > 0
    ? { kind: "flagged", texts: faults }
    : { kind: "clean", texts: [isPartial ? "no known flags" : "no flags"], isPartial };

/** Returns the summary of a network, or of each address family of an AS. */
export function summariesOf(answer: Answer): NetworkSummary[] {
  if (answer.kind === "as") return [answer.system?.ipv4, answer.system?.ipv6].flatMap((one) => one ?? []);
  return answer.kind === "network" && !isProblem(answer.summary) ? [answer.summary] : [];
}

type Summary = { readonly flagged: number; readonly flags: Readonly<Record<Flag, number>> };

function faultsOf(found: Reputation | EmailVerdict | Summary): string[] {
  if ("valid" in found) {
    return [...(found.valid ? [] : ["not valid"]), ...(found.disposable ? ["disposable"] : [])];
  }
  if (!("flagged" in found)) return REPUTATION_FLAGS.filter((flag) => found[flag]).map(flagName);
  return REPUTATION_FLAGS.filter((flag) => found.flags[flag] > 0).map(
    (flag) => `${flagName(flag)} ${formatPercent(found.flags[flag])}`,
  );
}
