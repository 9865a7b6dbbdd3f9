// Tests that the bodies that the table of docs/admin-api.md shows are accepted.

import { expect, test } from "bun:test";
import { ADMIN_OPERATION_IDS, ADMIN_OPERATIONS, type AdminOperationRow } from "@inkling/contract";
import type { AdminHandler } from "./handler.ts";
import { HANDLERS } from "./operations.ts";

/** JSON objects in code. Those with an ellipsis are not complete. */
const shownIn = (docs: string) =>
  [...docs.matchAll(/`(\{"[^`]*\})`/g)].flatMap(([, json = ""]) => (json.includes("…") ? [] : [json]));

const shown = ADMIN_OPERATION_IDS.flatMap((id) => {
  const row: AdminOperationRow = ADMIN_OPERATIONS[id];
  return shownIn(row.docs).map((json) => [id, json] as const);
});

test("there are such bodies", () => expect(shown.length).toBeGreaterThan(4));

test.each(shown)("%s takes %s", (id, json) => {
  const handler: AdminHandler = HANDLERS[id];
  const { error } = handler.body!.schema.safeParse(JSON.parse(json));
  expect(error?.issues ?? []).toEqual([]);
});
