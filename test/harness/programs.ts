// programs.ts: runs or skips tests that need programs that may be missing on a machine.

import { test } from "bun:test";

/** Runs `body` if the programs are installed. Otherwise, lists the missing ones. */
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
