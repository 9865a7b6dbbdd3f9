// Tests that the bodies that the table of docs/admin-api.md shows are accepted.

import { expect, test } from "bun:test";
import { ADMIN_ROUTES } from "./operations.ts";

/** JSON objects in code. Those with an ellipsis are not complete. */
const shownIn = (docs: string) =>
  [...docs.matchAll(/`(\{"[^`]*\})`/g)].flatMap(([, json = ""]) => (json.includes("…") ? [] : [json]));

const shown = [...ADMIN_ROUTES].flatMap(([id, { row }]) =>
  shownIn(row.docs).map((json) => [id, json] as const),
);

test("there are such bodies", () => expect(shown.length).toBeGreaterThan(4));

test.each(shown)("%s takes %s", (id, json) => {
  const { error } = ADMIN_ROUTES.get(id)!.handler.body!.safeParse(JSON.parse(json));
  expect(error?.issues ?? []).toEqual([]);
});
