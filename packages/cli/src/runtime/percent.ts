// percent.ts: the option --percent.

import { CliError, EXIT } from "../terminal/errors.ts";

/** @throws CliError */
export function percentOf(text: string): number {
  const percent = Number(text);
  if (/^\d{1,3}$/.test(text) && percent <= 100) return percent;
  throw new CliError(`--percent is a whole number from 0 to 100: it is ${text}`, undefined, EXIT.usage);
}
