// routes.ts: lists the routes of the admin API, most of which derive from the rows of packages/operations.

import { ADMIN_PATH, ADMIN_TAGS, keysOf } from "@inkling/contract";
import {
  type AnyOperation,
  fieldsOf,
  type LiveServer,
  type OperationContext,
  RESOURCES,
  type Resource,
  roleOf,
} from "@inkling/operations";
import { z } from "zod";
import { statusDocument } from "../lookup/status.ts";
import { finishInSteps } from "../sharing/turns.ts";
import { sendTest } from "../webhooks/sender.ts";
import type { AdminContext, AdminHandler, AdminRow, Call } from "./handler.ts";
import { type AdminRoute, handler } from "./handler.ts";
import { SESSION_ROUTES } from "./login.ts";
import { assessForOperator, callerOf, checkSparingly, lookUp, lookUpHistory } from "./lookup.ts";

/** Returns the routes of a resource by the ids of their operations. */
const routesOf = ({ tag, noun, operations }: Resource): [id: string, route: AdminRoute][] =>
  Object.entries(operations).map(([id, operation]) => [
    id,
    { row: rowOf(operation, tag, noun), handler: handlerOf(id, operation) },
  ]);

function rowOf(operation: AnyOperation, tag: Resource["tag"], noun: Resource["noun"]): AdminRow {
  const { summary, docs, audits = [], status = 200, isCreated, problems = [], maxBodyBytes } = operation;
  const [method, path] = splitRoute(operation.route);
  const isIdempotent = operation.isIdempotent ?? status === 201;
  return {
    method,
    path: `${ADMIN_PATH}${path}`,
    tag,
    summary,
    docs,
    role: roleOf(operation),
    audits,
    status,
    isIdempotent,
    problems: isIdempotent ? [...problems, "IDEMPOTENCY_KEY_INVALID"] : problems,
    ...(noun !== undefined && path.includes("{id}") && { names: noun }),
    ...(status === 201 && { headers: [isCreated === undefined ? "Location" : "Location?"] }),
    ...(isCreated !== undefined && { otherStatus: 200 }),
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
  };
}

const splitRoute = (route: AnyOperation["route"]) =>
  route.split(" ") as [method: AdminRow["method"], path: string];

function handlerOf(id: string, operation: AnyOperation): AdminHandler {
  const { route, status, output: answer, refreshes } = operation;
  const [method, path] = splitRoute(route);
  const fields = Object.fromEntries(fieldsOf(operation));
  const isInQuery = method === "GET" || method === "DELETE";
  const hasBody = !isInQuery && Object.keys(fields).length > 0;
  return {
    ...(isInQuery && { query: fields }),
    ...(hasBody && { body: z.strictObject(fields).meta({ id: bodyName(id) }) }),
    answer,
    run: async (context, call) => {
      const { query, body, id } = call;
      const input = { ...query, ...body, ...(path.includes("{id}") && { id }) };
      const document = await operation.run(operationContext(context, call), input);
      if (refreshes !== undefined) await REFRESH[refreshes](context);
      if (operation.isCreated?.(document) === false) return { document, status: 200 };
      if (status !== 201) return { document };
      const created = document.id ?? document.name ?? document.number;
      return { document, headers: { Location: `${ADMIN_PATH}${path.split("/")[0]}/${created}` } };
    },
  };
}

/** Others may wait for a comparison of releases when the client that asked for it has left. */
const NEVER = new AbortController().signal;

function operationContext(context: AdminContext, call: Call): OperationContext {
  const { store, now, elapsed, settings, decisions, verify, actions, version } = context;
  const { by, token } = call;
  const caller = callerOf(call);
  return {
    store,
    now,
    elapsed,
    settings,
    decisions,
    dataDir: settings.dataDir,
    verify,
    feeds: async () => actions?.feeds,
    updates: actions?.updates,
    server: liveServer(context),
    lookups: {
      lookUp: (values, parts) => lookUp(context, values, parts, caller),
      lookUpHistory: (value) => lookUpHistory(context, value, caller),
      assess: (visitor, draft) => assessForOperator(context, visitor, draft, caller),
    },
    by,
    token,
    audited: (entry, change) => store.audit.around({ ...by, ...entry }, change),
    checkSparingly: (check) => checkSparingly(caller, check),
    inSteps: (steps) => finishInSteps(steps, NEVER),
    sendTest: (id) => sendTest(store, id, { version, now }),
  };
}

function liveServer(context: AdminContext): LiveServer {
  const { reporter, traffic, log, serving, releases, now } = context;
  return {
    report: () => reporter.current,
    status: () => statusDocument(context, now()),
    release: releases.current?.name,
    checkRelease: () => releases.check(),
    minutes: traffic.minutes,
    setLogLevel: (level, author) => {
      log.level = level;
      serving.publish("log-level");
      log.record("log-level-changed", { to: level, author });
    },
  };
}

/** The name of a body's schema: "CreateKeyBody". */
const bodyName = (id: string) =>
  `${id.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Body`;

const REFRESH: Readonly<
  Record<NonNullable<AnyOperation["refreshes"]>, (context: AdminContext) => Promise<unknown>>
> = {
  keys: ({ keyLoader }) => keyLoader.refresh(),
  overrides: ({ overrides }) => overrides.refresh(),
  rulesets: ({ rulesets }) => rulesets.refresh(),
};

const DOCUMENT: AdminRoute = {
  row: {
    method: "GET",
    path: `${ADMIN_PATH}openapi.json`,
    tag: "Watch",
    summary: "This document",
    docs: "OpenAPI 3.1 document",
    isOpen: true,
    role: "read",
    audits: [],
  },
  handler: handler({
    answer: z.looseObject({ openapi: z.string() }),
    run: async ({ version }) => {
      const { adminOpenApi } = await import("./openapi.ts");
      return { document: adminOpenApi(version, ADMIN_ROUTES) };
    },
  }),
};

const TAGS = keysOf(ADMIN_TAGS);

/** Every route by the id of its operation, in the order of the tags. */
export const ADMIN_ROUTES: ReadonlyMap<string, AdminRoute> = new Map(
  [...Object.entries(SESSION_ROUTES), ...RESOURCES.flatMap(routesOf), ["openapi", DOCUMENT] as const].sort(
    ([, a], [, b]) => TAGS.indexOf(a.row.tag) - TAGS.indexOf(b.row.tag),
  ),
);
