// confirm.ts: asks before a change that affects visitors or servers, or that needs an agreement.

import { CliError } from "../terminal/errors.ts";
import type { Context } from "./command.ts";

interface Refusals {
  /** The error without a terminal. */
  readonly unasked: string;
  /** The error if the answer is not yes. */
  readonly declined: string;
  /** How to confirm without a terminal. */
  readonly hint: string;
}

/** @throws CliError if there is no terminal, or if the answer is not yes */
export async function confirm(
  { terminal }: Context,
  question: string,
  { unasked, declined, hint }: Refusals,
): Promise<void> {
  if (terminal.prompt === undefined) throw new CliError(unasked, hint);
  const answer = await terminal.prompt(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(declined, hint);
}
