// derived.ts: derives the admin API's routes from the rows of packages/operations.

import { ADMIN_PATH, type AdminOperationRow } from "@inkling/contract";
import { type AnyOperation, membersOf, type Resource, type RunningServer } from "@inkling/operations";
import { z } from "zod";
import { sendTest } from "../webhooks/sender.ts";
import { checkSparingly } from "./assess.ts";
import type { AdminContext, AdminHandler } from "./handler.ts";
import { callerOf } from "./lookup.ts";

export interface AdminRoute {
  readonly row: AdminOperationRow;
  readonly handler: AdminHandler;
}

/** Returns the routes of a resource by the ids of their operations. */
export const routesOf = ({ tag, noun, operations }: Resource): [id: string, route: AdminRoute][] =>
  Object.entries(operations).map(([id, operation]) => [
    id,
    { row: rowOf(operation, tag, noun), handler: handlerOf(id, operation) },
  ]);

function rowOf(operation: AnyOperation, tag: Resource["tag"], noun: Resource["noun"]): AdminOperationRow {
  const { route, summary, docs, status = 200, isCreated, problems = [], audits = [] } = operation;
  const { maxBodyBytes } = operation;
  const [method, path] = splitRoute(route);
  const isIdempotent = operation.isIdempotent ?? status === 201;
  const row = {
    path: `${ADMIN_PATH}${path}`,
    tag,
    summary,
    docs,
    status,
    isIdempotent,
    problems: isIdempotent ? ([...problems, "IDEMPOTENCY_KEY_INVALID"] as const) : problems,
    ...(noun !== undefined && path.includes("{id}") && { names: noun }),
    ...(status === 201 && { headers: [isCreated === undefined ? "Location" : "Location?"] }),
    ...(isCreated !== undefined && { otherStatus: 200 }),
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
  };
  return method === "GET" ? { ...row, method } : { ...row, method, audits, role: operation.role ?? "admin" };
}

const splitRoute = (route: AnyOperation["route"]) =>
  route.split(" ") as [method: AdminOperationRow["method"], path: string];

function handlerOf(id: string, operation: AnyOperation): AdminHandler {
  const { route, status, output: answer, refreshes } = operation;
  const [method, path] = splitRoute(route);
  const members = Object.fromEntries(membersOf(operation));
  const isInQuery = method === "GET" || method === "DELETE";
  const hasBody = !isInQuery && Object.keys(members).length > 0;
  return {
    ...(isInQuery && { query: members }),
    ...(hasBody && { body: { schema: z.strictObject(members).meta({ id: bodyName(id) }), depth: 1 } }),
    answer,
    run: async (context, { request, id, query, body, by, token }) => {
      const { store, now, elapsed, settings, decisions, status: server } = context;
      const input = { ...query, ...body, ...(path.includes("{id}") && { id }) };
      const document = await operation.run(
        {
          store,
          now,
          elapsed,
          settings,
          decisions,
          server: runningServer(context),
          by,
          token,
          checkSparingly: (check) => checkSparingly(callerOf(request, token), check),
          sendTest: (id) => sendTest(store, id, { version: server.version, now }),
        },
        input,
      );
      if (refreshes !== undefined) await REFRESH[refreshes](context);
      if (operation.isCreated?.(document) === false) return { document, status: 200 };
      if (status !== 201) return { document };
      const created = document.id ?? document.name ?? document.number;
      return { document, headers: { Location: `${ADMIN_PATH}${path.split("/")[0]}/${created}` } };
    },
  };
}

const runningServer = ({ report, traffic, log, serving }: AdminContext): RunningServer => ({
  report,
  minutes: traffic.minutes,
  setLogLevel: (level, author) => {
    log.level = level;
    serving.publish("log-level");
    log.record("log-level-changed", { to: level, author });
  },
});

/** The name of a body's schema: "CreateKeyBody". */
const bodyName = (id: string) =>
  `${id.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Body`;

const REFRESH: Readonly<
  Record<NonNullable<AnyOperation["refreshes"]>, (context: AdminContext) => Promise<unknown>>
> = {
  keys: ({ keyLoader }) => keyLoader.refresh(),
  overrides: ({ overrideCache }) => overrideCache.refresh(),
  rulesets: ({ rulesetCache }) => rulesetCache.refresh(),
};
