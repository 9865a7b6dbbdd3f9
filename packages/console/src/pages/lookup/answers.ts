// answers.ts: answers that are problems, and members that lack data.

import { isReputationFlag } from "@inkling/contract";
import type { Answer, Flag, Reputation, ValueProblem } from "@inkling/server/admin-answers";

export const isProblem = (answer: object): answer is ValueProblem => "code" in answer;

/** Is a flag false only because no feed is loaded for it? What an override sets is known. */
export function isUnknown(reputation: Reputation, flag: Flag, missing: readonly string[]): boolean {
  if (reputation[flag] || !missing.includes(flag)) return false;
  return !reputation.evidence?.some(({ feed, flags }) => feed === "override" && flags?.includes(flag));
}

/** Would this answer contain more if there were data for `gap`? */
export function lacksData(answer: Answer, gap: string): boolean {
  if ("email" in answer) return gap === "disposable";
  if (answer.kind === "network") return gap !== "disposable" && !isProblem(answer.summary);
  if (answer.kind !== "address" || gap === "disposable") return false;
  if (!isReputationFlag(gap)) return isProblem(answer.geolocation);
  return !isProblem(answer.reputation) && isUnknown(answer.reputation, gap, [gap]);
}

/** Is the answer made of the data of this name? */
export function readsData(answer: Answer, name: string): boolean {
  if ("email" in answer) return name === "disposable";
  return answer.kind !== "unknown" && name !== "disposable";
}
