// domain-doubts.ts: what speaks against a listing beside allow-lists: popularity, a reserved ending, a typing error.
//
// in   the claims, then the path of one listed domain
// out  doubts with their weights; they vote with the lists of free mail (email.ts), none decides alone
//
// Lists that copy others also hold what people mistyped or made up at a sign-up form: gmai.com, army.gov. A reserved ending
// is one that only institutions get. Where lists that do not copy name several domains under one, as under edu.pl, it
// is sold to anybody, and counts for nothing.

import { suggestDomain } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import {
  POPULAR_PARENT_WEIGHT,
  RESERVED_ENDING_WEIGHT,
  TYPING_ERROR_WEIGHT,
  weightOf,
} from "./domain-weights.ts";
import type { WeightedList } from "./lineage.ts";

export interface Doubt extends WeightedList {
  readonly label: "popular" | "name";
  /** The popular name: the domain, or a parent. */
  readonly name?: string;
  readonly why?: string;
}

const RESERVED = /(?:^|\.)((?:gov|edu|mil|int)|(?:gov|govt|gob|gouv|gub|go|mil|edu|ac)\.[a-z]{2})$/;
/** Domains on lists that rest on observation: so many make an ending an open one. */
const OPEN_FROM = 3;

export class DomainDoubts {
  private readonly popular: readonly DomainClaims[];
  private readonly openEndings: ReadonlySet<string>;

  constructor(claims: readonly DomainClaims[]) {
    this.popular = claims.filter(({ subject }) => subject === "popular");
    this.openEndings = openEndings(claims);
  }

  /** @param path from the engine's `walkUp`: the listed domain, its parents, last its registrable domain */
  about(path: readonly string[]): readonly Doubt[] {
    const doubts: Doubt[] = [];
    for (const { feed, lineage, domains } of this.popular) {
      const name = path.find((name) => domains.has(name));
      if (name === undefined) continue;
      const weight = name === path[0] ? weightOf(feed) : POPULAR_PARENT_WEIGHT;
      doubts.push({ feed, lineage, weight, label: "popular", name });
    }
    const ofName = this.nameDoubt(path.at(-1));
    if (ofName !== undefined) doubts.push({ feed: "its name", label: "name", ...ofName });
    return doubts;
  }

  private nameDoubt(registrable = ""): Pick<Doubt, "weight" | "why"> | undefined {
    const ending = reservedEnding(registrable);
    if (ending !== undefined && !this.openEndings.has(ending))
      return { weight: RESERVED_ENDING_WEIGHT, why: `only institutions get names under ${ending}` };
    if (suggestDomain(registrable) === undefined) return undefined;
    return { weight: TYPING_ERROR_WEIGHT, why: "it is a typing error away from a large provider" };
  }
}

/** The ending below which the domain lies, if institutions have it to themselves almost everywhere. */
function reservedEnding(registrable: string): string | undefined {
  const ending = RESERVED.exec(registrable)?.[1];
  return ending === registrable ? undefined : ending;
}

function openEndings(claims: readonly DomainClaims[]): ReadonlySet<string> {
  const below = new Map<string, Set<string>>();
  for (const { feed, weight, subject, domains } of claims) {
    if (subject !== "disposable" || weightOf(feed, weight) === 1) continue;
    for (const domain of domains.keys()) {
      const ending = reservedEnding(domain);
      if (ending === undefined) continue;
      const name = domain.slice(domain.lastIndexOf(".", domain.length - ending.length - 2) + 1);
      below.set(ending, (below.get(ending) ?? new Set()).add(name));
    }
  }
  return new Set([...below].flatMap(([ending, names]) => (names.size >= OPEN_FROM ? ending : [])));
}
