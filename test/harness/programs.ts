// programs.ts: tests with programs that a machine may not have.

import { test } from "bun:test";

/** Runs `body` where the programs are, and names what is missing elsewhere. */
export function withPrograms(
  name: string,
  programs: readonly string[],
  possible: boolean,
  body: () => void | Promise<void>,
): void {
  const missing = programs.filter((program) => Bun.which(program) === null);
  if (possible && missing.length === 0) test(name, body);
  else test.skip(`${name}: needs ${[...missing, ...(possible ? [] : ["namespaces"])].join(", ")}`, () => {});
}
