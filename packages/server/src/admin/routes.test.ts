import { expect, test } from "bun:test";
import { ADMIN_PATH } from "@inkling/contract";
import { ADMIN_ROUTES } from "./routes.ts";

const IDS = [...ADMIN_ROUTES.keys()];
const rowOf = (id: string) => ADMIN_ROUTES.get(id)!.row;

test.each(IDS)("%s is below /admin/v1/, and says what `{id}` names if its path has one", (id) => {
  const { path, names } = rowOf(id);
  expect(path).toStartWith(ADMIN_PATH);
  expect(path.includes("{id}")).toBe(names !== undefined);
});

test.each(IDS)("%s needs a role above read if it leaves an audit entry", (id) => {
  const row = rowOf(id);
  const isAudited = row.method !== "GET" && row.audits.length > 0;
  expect(isAudited && row.role === "read").toBe(false);
});

test("these requests need only the role read, although their method is not GET", () => {
  const ids = IDS.filter((id) => {
    const row = rowOf(id);
    return row.method !== "GET" && row.role === "read";
  });
  expect(ids).toEqual([
    "log_in",
    "log_out",
    "look_up",
    "look_up_history",
    "assess_visitor",
    "check_ruleset",
    "replay_ruleset",
  ]);
});

test("all other requests that are not GET leave an audit entry, except these", () => {
  const ids = IDS.filter((id) => {
    const row = rowOf(id);
    return row.method !== "GET" && row.role !== "read" && row.audits.length === 0;
  });
  expect(ids).toEqual(["test_webhook", "set_log_level"]);
});

test("no two operations have the same method and path", () => {
  const requests = IDS.map((id) => {
    const { method, path } = rowOf(id);
    return `${method} ${path}`;
  });
  expect(new Set(requests).size).toBe(requests.length);
});

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
