// unreached.ts: what is said of a publisher, or a mirror, that did not answer at all, and how that is known again.
//
// in   why; or what a FeedReport says is wrong
// out  words; or why again, apart from what else is wrong
// err  none
//
// Without internet this is every feed: who shows reports says it once, not thirty times.

const WORDS = "could not be reached";

/** What stands behind the URL. */
export const unreachedWords = (why: string) => `${WORDS}: ${why}`;

export interface Trouble {
  /** Why the feed's source did not answer, if it did not. */
  readonly unreached: string | undefined;
  /** All else; "" when there is nothing. */
  readonly rest: string;
}

/** Parts of a report's `error`. */
export function splitTrouble(error: string): Trouble {
  let unreached: string | undefined;
  const rest: string[] = [];
  for (const part of error.split("; ")) {
    const why = UNREACHED.exec(part)?.[1];
    if (why === undefined) rest.push(part);
    else unreached ??= why;
  }
  return { unreached, rest: rest.join("; ") };
}
// "fetched" is in the reports of earlier versions of Inkling.
const UNREACHED = new RegExp(`^(?:publisher|mirror|fetched): \\S+ ${WORDS}: (.+)$`);
