import { expect, test } from "bun:test";
import { ADMIN_PATH } from "./admin-operation-row.ts";
import { ADMIN_OPERATION_IDS, ADMIN_OPERATIONS } from "./admin-operations.ts";

test.each(ADMIN_OPERATION_IDS)(
  "%s is below /admin/v1/, and says what `{id}` names if its path has one",
  (id) => {
    const { path, names } = ADMIN_OPERATIONS[id];
    expect(path).toStartWith(ADMIN_PATH);
    expect(path.includes("{id}")).toBe(names !== undefined);
  },
);

test("no two operations have the same method and path", () => {
  const requests = ADMIN_OPERATION_IDS.map((id) => {
    const { method, path } = ADMIN_OPERATIONS[id];
    return `${method} ${path}`;
  });
  expect(new Set(requests).size).toBe(requests.length);
});
