// draft.ts: holds the ruleset that the user is writing. The draft survives a reload of the page and a new login in the
// same tab.

import { STARTER_RULESET } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { Ruleset } from "../../answers.ts";

const KEY = "inkling-console-ruleset";

interface Kept {
  readonly text: string;
  /** Number of the newest ruleset when the draft was started; 0 if there was none. */
  readonly base: number;
}

export interface Draft extends Kept {
  /** Would publishing it change anything? */
  readonly isChanged: boolean;
  /** Does it contain text that would be lost? */
  readonly isWritten: boolean;
  readonly write: (text: string) => void;
  readonly publishedAs: (number: number) => void;
  /** Goes back to the newest ruleset, or to the starter ruleset if there is none. */
  readonly discard: () => void;
}

function readKept(): Kept | undefined {
  const json = sessionStorage.getItem(KEY);
  return json === null ? undefined : JSON.parse(json);
}

function keep(draft: Kept | undefined): void {
  if (draft === undefined) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, JSON.stringify(draft));
}

/** Converts line breaks, because a text field has only "\n". */
export const unixText = (text: string) => text.replaceAll("\r\n", "\n");

/** Starts with the newest ruleset, or with the starter ruleset if there is none. */
export function useDraft(newest: Ruleset | undefined): Draft {
  const [kept, setKept] = useState(readKept);
  const number = newest?.number ?? 0;
  const fresh = { text: unixText(newest?.text ?? STARTER_RULESET), base: number };
  const { text, base } = kept ?? fresh;
  const set = (draft: Kept | undefined) => {
    keep(draft);
    setKept(draft);
  };
  return {
    text,
    base,
    isChanged: newest === undefined || text !== fresh.text,
    isWritten: text !== fresh.text,
    write: (written) => set(written === fresh.text ? undefined : { text: written, base }),
    publishedAs: (published) => {
      keep(undefined);
      setKept({ text, base: published }); // kept until the newest ruleset is reloaded
    },
    discard: () => set(undefined),
  };
}
