// Tests that /openapi.json is valid OpenAPI 3.1 and complete, and checks responses against it.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ADMIN_PROBLEM_CODES, NO_FLAGS, OPERATIONS, PROBLEM_CODES, PROBLEMS } from "@inkling/contract";
import { Validator } from "@seriousme/openapi-schema-validator";
import { adminOpenApi } from "../../../packages/server/src/admin/openapi.ts";
import { ADMIN_ROUTES } from "../../../packages/server/src/admin/routes.ts";
import { openApiJson } from "../../../packages/server/src/api/openapi.ts";
import { startServer } from "../../../packages/server/src/run/server.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { adminServer, closeAdminServers } from "../../harness/admin-server.ts";
import { apiContract, fetch, type ReceivedResponse } from "../../harness/checked-fetch.ts";
import { projectFiles } from "../../harness/project-files.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, walked by name
type Json = any;
const document: Json = JSON.parse(openApiJson("1.2.3"));

/** Yields every object in the document, with its path. */
function* objects(json: unknown, way = "#"): Generator<[way: string, object: Record<string, unknown>]> {
  if (typeof json !== "object" || json === null) return;
  yield [way, json as Record<string, unknown>];
  for (const [name, inner] of Object.entries(json)) yield* objects(inner, `${way}/${name}`);
}

describe("the document", () => {
  test("is valid OpenAPI 3.1", async () => {
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });
  test("that is invalid is detected", async () => {
    const broken = structuredClone(document);
    broken.paths["/healthz"].get.responses["200"].description = 7;
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
  });

  test("has every route, every parameter and every code", () => {
    const described = Object.values(OPERATIONS).filter(({ docs }) => docs !== undefined);
    expect(Object.keys(document.paths)).toEqual(described.map(({ path }) => path));
    for (const { path, parameters = [] } of described) {
      const operation = document.paths[path].get ?? document.paths[path].post;
      for (const { name, value } of parameters) {
        const parameter = operation.parameters.find((one: { name: string }) => one.name === name);
        expect(parameter.schema.enum ?? parameter.schema.items.enum).toContain(value);
      }
    }
    const { responses } = document.paths["/v1/ip-intel/geolocate/{ip}"].get;
    for (const code of PROBLEM_CODES) {
      const { schema } = responses[PROBLEMS[code].status].content["application/problem+json"];
      expect(schema.properties.code.enum).toContain(code);
    }
  });

  test("has what Spectral's and Redocly's recommended rules ask for", () => {
    expect(Object.keys(document.info)).toContain("contact");
    expect(document.components.responses).toBeUndefined(); // the linter reports a component that no operation uses
    for (const [path, methods] of Object.entries<Json>(document.paths))
      for (const { description, responses, security } of Object.values<Json>(methods)) {
        expect(description, path).toMatch(/\w/);
        expect(
          Object.keys(responses).some((status) => status.startsWith("2")),
          path,
        ).toBe(true);
        expect(
          security.flatMap((one: Json) => Object.values(one).flat()),
          path,
        ).toEqual([]);
      }
    for (const [way, { required, properties }] of objects(document))
      if (Array.isArray(required))
        expect(Object.keys(properties ?? {}), way).toEqual(expect.arrayContaining(required));
  });

  test("has no dangling reference, and unique operation ids", () => {
    let references = 0;
    for (const [way, { $ref }] of objects(document)) {
      if (typeof $ref !== "string") continue;
      references++;
      const target = $ref
        .split("/")
        .slice(1)
        .reduce((json, part) => json?.[part], document);
      expect(target, `${way}: ${$ref}`).toBeDefined();
      expect(target.$ref, `${$ref} refers to itself`).toBeUndefined();
    }
    expect(references).toBeGreaterThan(50);
    const ids = [...objects(document)].flatMap(([, { operationId }]) =>
      operationId === undefined ? [] : [operationId],
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("has examples that match its schemas", () => {
    let examples = 0;
    for (const [path, methods] of Object.entries<Json>(document.paths)) {
      for (const [method, operation] of Object.entries<Json>(methods)) {
        for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
          for (const [type, media] of Object.entries<Json>(content ?? {})) {
            for (const [name, example] of Object.entries<Json>(media.examples ?? {})) {
              const value = example.value ?? document.components.examples[name].value;
              const received: ReceivedResponse = {
                method: method.toUpperCase(),
                path,
                status: Number(status),
                headers: new Headers({ "content-type": type }),
                body: typeof value === "string" ? value : JSON.stringify(value),
              };
              const problems = apiContract
                .problems(received)
                .filter((line) => !line.startsWith("the header"));
              expect(problems, `${path} ${name}`).toEqual([]);
              examples++;
            }
          }
        }
      }
    }
    expect(examples).toBeGreaterThan(50);
  });

  test("contains no local path", () => expect(JSON.stringify(document)).not.toContain(process.cwd()));
});

describe("a response that differs from the document is detected:", () => {
  const good: ReceivedResponse = {
    method: "GET",
    path: "/v1/ip-intel/reputation/8.8.8.8",
    status: 200,
    headers: new Headers({
      "Content-Type": "application/json",
      "Cache-Control": "private, max-age=300",
      "Inkling-Data-Version": "0123456789ab",
      "X-Request-Id": "abcdefghij",
      ETag: '"0123456789ab"',
      Vary: "Authorization",
    }),
    body: JSON.stringify(NO_FLAGS),
  };
  test("a correct response passes", () => expect(apiContract.problems(good)).toEqual([]));

  const without = (name: string) => {
    const headers = new Headers(good.headers);
    headers.delete(name);
    return { headers };
  };
  const withHeader = (name: string, value: string) => {
    const headers = new Headers(good.headers);
    headers.set(name, value);
    return { headers };
  };
  const problem = (over: object) => ({
    status: 400,
    headers: new Headers({
      ...Object.fromEntries(without("etag").headers),
      "Content-Type": "application/problem+json",
      "Cache-Control": "no-store",
    }),
    body: JSON.stringify({
      type: "/x",
      title: "x",
      status: 400,
      detail: "x",
      code: "PATH_INVALID",
      request_id: "x",
      ...over,
    }),
  });
  const rows: [name: string, over: Partial<ReceivedResponse>][] = [
    ["a status", { status: 201 }],
    ["a header too many", withHeader("X-Debug", "1")],
    ["a header too few", without("x-request-id")],
    ["a header's value", withHeader("RateLimit", "many")],
    ["a media type", withHeader("Content-Type", "text/plain")],
    ["a field too few", { body: '{"is_abuser":false,"is_proxy":false}' }],
    ["a field too many", { body: good.body.replace("}", ',"is_good":true}') }],
    ["null", { body: good.body.replace("false", "null") }],
    ["a code of another status", problem({ code: "KEY_INVALID" })],
    ["another status in the problem", problem({ status: 401 })],
    ["a problem about a value in the answer", { path: "/healthz", ...problem({}) }],
    ["an answer where nothing is", { path: "/v3/nothing" }],
    ["a body of HEAD", { method: "HEAD" }],
  ];
  test.each(rows)("%s", (_, over) => expect(apiContract.problems({ ...good, ...over })).not.toEqual([]));
});

test("batches over a socket match the document: JSON and NDJSON, answers and problems", async () => {
  const dataDir = temporaryFolder();
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  const { token } = await store.createKey(parseNewKey({ name: "test", mode: "test" }, Date.now()));
  await store.close();
  const server = await startServer({
    ...testServerOptions(dataDir),
    rate: 1000,
    burst: 2000,
  });
  const post = (path: string, type: string, body: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": type },
      body,
    });
  const values = ["192.0.2.1", "192.0.2.7", "nowhere", "203.0.113.14"];
  const lines = values.map((value) => `${JSON.stringify(value)}\n`).join("");
  try {
    for (const path of [
      "/v1/ip-intel/geolocate",
      "/v1/ip-intel/reputation?include=evidence",
      "/v1/user-intel/email",
    ]) {
      const json = await post(path, "application/json", JSON.stringify({ values }));
      expect([json.status, ((await json.json()) as { answers: unknown[] }).answers.length]).toEqual([200, 4]);
      const ndjson = await post(path, "application/x-ndjson", lines);
      expect([ndjson.status, (await ndjson.text()).trim().split("\n").length]).toEqual([200, 4]);
    }
    const refused = await post("/v1/user-intel/email", "text/plain", "x");
    expect(refused.status).toBe(415);
    expect((await post("/v1/user-intel/email", "application/json", "{")).status).toBe(400);
    expect((await fetch(`http://127.0.0.1:${server.port}/v1/user-intel/email`)).status).toBe(405);
  } finally {
    await server.stop();
  }
});

describe("the admin API's document", () => {
  const admin: Json = adminOpenApi("1.2.3", ADMIN_ROUTES);
  test("is valid OpenAPI 3.1", async () => {
    expect(await new Validator().validate(structuredClone(admin))).toEqual({ valid: true });
  });
  test("has every operation and every code, and no dangling reference", () => {
    const described = [...objects(admin)].flatMap(([, { operationId }]) => operationId ?? []);
    expect(described.toSorted()).toEqual([...ADMIN_ROUTES.keys()].toSorted()); // the document groups by path
    const inOperations = new Set(
      [...objects(admin.paths)].flatMap(([, { code }]) => (code as { enum?: string[] })?.enum ?? []),
    );
    const elsewhere = Object.keys(admin["x-other-responses"]);
    expect([...new Set([...inOperations, ...elsewhere])].sort()).toEqual([...ADMIN_PROBLEM_CODES].sort());
    for (const [way, { $ref }] of objects(admin)) {
      if (typeof $ref !== "string") continue;
      const target = $ref
        .split("/")
        .slice(1)
        .reduce((json, part) => json?.[part], admin);
      expect(target, `${way}: ${$ref}`).toBeDefined();
    }
  });
  test("describes request bodies, also where a schema transforms its input", () => {
    const { CreateKeyBody } = admin.components.schemas;
    expect(CreateKeyBody.required).toEqual(["name"]);
    expect(Object.keys(CreateKeyBody.properties)).toContain("expires_at");
    expect(JSON.stringify(CreateKeyBody.properties.rate)).toContain('"maximum":1000000');
  });
  test("needs no token", async () => {
    const { ask: send } = await adminServer();
    const { status, document } = await send("GET", "openapi.json", undefined, { Authorization: "" });
    expect([status, document.openapi, document.info.version]).toEqual([200, "3.1.1", "0.0.0"]);
    await closeAdminServers();
  });
});

test("every test that sends HTTP requests checks responses against the document", () => {
  const others = [
    "packages/client/src/middleware/frameworks.test.ts", // sends requests to other frameworks' servers
    "packages/client/src/middleware/protect.test.ts",
    "test/attack/attack.test.ts", // judges responses itself, because no document covers its requests
    "test/scenarios/publisher/channel.test.ts", // sends requests to channel stores
  ];
  const unchecked = projectFiles()
    .filter(({ path }) => path.endsWith(".test.ts") && !others.includes(path))
    .filter(({ text }) => /(?<![.\w"])fetch\((?!\w*\) \{)/.test(text))
    .filter(({ text }) => !/import \{[^}]*\bfetch\b[^}]*\} from "[^"]*\/checked-fetch\.ts"/.test(text))
    .map(({ path }) => path);
  expect(unchecked).toEqual([]);
});
