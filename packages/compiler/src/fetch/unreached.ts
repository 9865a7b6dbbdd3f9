// unreached.ts: the error text of a source that could not be reached, written and recognized.
//
// Without internet this is every feed: reports show it once, not thirty times.

const WORDS = "could not be reached";

/** The text after the URL. */
export const unreachedWords = (why: string) => `${WORDS}: ${why}`;

export interface Trouble {
  /** Why the feed's source did not answer, if it did not. */
  readonly unreached: string | undefined;
  /** Other errors; "" for none. */
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
