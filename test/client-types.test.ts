// The client's error codes beside the server's.

import { expect, test } from "bun:test";
import { SERVER_CODES } from "../packages/client/src/errors.ts";
import { PROBLEM_CODES } from "../packages/server/src/http/problems.ts";

test("every code of the server has a hint, and no other code has", () => {
  expect([...SERVER_CODES].sort()).toEqual([...PROBLEM_CODES].sort());
});
