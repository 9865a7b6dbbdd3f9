import { expect, test } from "bun:test";
import { ADMIN_PATH, roleOf } from "./admin-operation-row.ts";
import { ADMIN_OPERATION_IDS, ADMIN_OPERATIONS } from "./admin-operations.ts";

test.each(ADMIN_OPERATION_IDS)(
  "%s is below /admin/v1/, and says what `{id}` names if its path has one",
  (id) => {
    const { path, names } = ADMIN_OPERATIONS[id];
    expect(path).toStartWith(ADMIN_PATH);
    expect(path.includes("{id}")).toBe(names !== undefined);
  },
);

test.each(ADMIN_OPERATION_IDS)("%s needs a role above read if it leaves an audit entry", (id) => {
  const row = ADMIN_OPERATIONS[id];
  const isAudited = row.method !== "GET" && row.audits.length > 0;
  expect(isAudited && roleOf(row) === "read").toBe(false);
});

test("these requests need only the role read, although their method is not GET", () => {
  const ids = ADMIN_OPERATION_IDS.filter((id) => {
    const row = ADMIN_OPERATIONS[id];
    return row.method !== "GET" && roleOf(row) === "read";
  });
  expect(ids).toEqual([
    "log_in",
    "log_out",
    "look_up",
    "look_up_history",
    "check_ruleset",
    "replay_ruleset",
    "assess_visitor",
  ]);
});

test("no two operations have the same method and path", () => {
  const requests = ADMIN_OPERATION_IDS.map((id) => {
    const { method, path } = ADMIN_OPERATIONS[id];
    return `${method} ${path}`;
  });
  expect(new Set(requests).size).toBe(requests.length);
});
