// mcp.test.ts: tests the tools for agents with a client of the Model Context Protocol: over HTTP on the admin API, and
// over standard input and output with `inkling mcp`.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { RESOURCES, roleOf } from "@inkling/operations";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openStore } from "../packages/store/src/store.ts";
import { type AdminTest, adminServer, closeAdminServers } from "./harness/admin-server.ts";
import { DIRECT } from "./harness/inkling.ts";
import { tried } from "./harness/recorded-rows.ts";
import { SMALL_NETWORK, smallCity, smallRelease, temporaryFolder } from "./harness/release.ts";

const OFF = { value: "81.2.69.142", flag: "is_tor_exit", verdict: false, note: "our office" };
const ADDRESS = SMALL_NETWORK.replace("0/24", "9");
const ROWS = RESOURCES.flatMap(({ operations }) => Object.entries(operations));
const clients: Client[] = [];
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await closeAdminServers();
});

let admin: AdminTest;
beforeAll(async () => {
  admin = await adminServer();
});

async function connected(transport: StreamableHTTPClientTransport | StdioClientTransport): Promise<Client> {
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  clients.push(client);
  return client;
}

const overHttp = (token: string) =>
  connected(
    new StreamableHTTPClientTransport(new URL("http://t/admin/v1/mcp"), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
      fetch: (url, init) => admin.app.handle(new Request(String(url), init)),
    }),
  );

/** @returns an HTTP client whose token has this role */
async function withRole(role: "read" | "analyst", name: string): Promise<Client> {
  const { document } = await admin.ask("POST", "admin-tokens", { name, role });
  return overHttp(document.token);
}

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name).sort();
const call = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const { content, isError = false } = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const texts = content.map((part) => (part.type === "text" ? part.text : part.type));
  return { texts, isError, json: () => JSON.parse(texts[0]!) };
};

describe("tools", () => {
  test("are the operations that the token's role allows", async () => {
    const expected = (roles: readonly string[]) =>
      ROWS.filter(([, row]) => roles.includes(roleOf(row)))
        .map(([id]) => id)
        .sort();
    const [read, analyst] = [await withRole("read", "reader"), await withRole("analyst", "labeller")];
    expect(await names(read)).toEqual(expected(["read"]));
    expect(await names(analyst)).toEqual(expected(["read", "analyst"]));
    expect(await names(await overHttp(admin.token))).toEqual(expected(["read", "analyst", "admin"]));
    expect(ROWS.filter(([, row]) => roleOf(row) === "read" && (row.audits ?? []).length > 0)).toEqual([]);
    const { tools } = await read.listTools();
    const lookUp = tools.find(({ name }) => name === "look_up")!;
    expect(lookUp).toMatchObject({
      annotations: { readOnlyHint: true },
      inputSchema: { type: "object", required: ["values"], additionalProperties: false },
    });
    // The list is in every session's context.
    expect(JSON.stringify(tools).length).toBeLessThan(20_000);
  });

  test("that change something need the role, write audit entries, and apply at once", async () => {
    const analyst = await withRole("analyst", "agent");
    const refreshes = admin.seen.refreshes;
    const added = (await call(analyst, "put_override", OFF)).json();
    expect([added.outcome, admin.seen.refreshes]).toEqual(["added", refreshes + 1]);
    const { entries } = (await call(analyst, "audit", { source: "mcp" })).json();
    expect(entries).toMatchObject([
      { author: "agent", source: "mcp", action: "override-added", subject: added.id },
    ]);
    expect((await call(analyst, "get_override", { id: added.id })).json()).toMatchObject(OFF);
    await expect(call(analyst, "create_key", { name: "x" })).rejects.toThrow("needs the role `admin`");
  });
});

describe("refuses", () => {
  test.each([
    ["get_override", { id: "ovr_0000000000000000" }, "OVERRIDE_NOT_FOUND"],
    ["list_decisions", { limit: "ten" }, "limit"],
    ["list_decisions", { limit: 1e9 }, "limit"],
    ["list_decisions", { ["x".repeat(5_000)]: 1 }, "BODY_INVALID"],
    ["look_up", { values: Array(101).fill("8.8.8.8") }, "values"],
    ["look_up", { values: ["8.8.8.8"], __proto__: null, constructor: 1 }, "constructor"],
    ["get_decision", { id: "asm_\0" }, "arguments: must not contain the character U+0000"],
    ["look_up", { values: [["x"]] }, "values"],
    ["look_up", { values: ["8.8.8.8"] }, "DATA_NOT_LOADED"],
    ["look_up", {}, "values"],
  ])("%s, case %#", async (name, args, reason) => {
    const { texts, isError } = await call(await overHttp(admin.token), name, args);
    expect([isError, texts.join("\n")]).toEqual([true, expect.stringContaining(reason)]);
    expect(texts.join().length).toBeLessThan(2_000);
  });

  test("an unknown tool, with its name shortened", async () => {
    const unknown = call(await overHttp(admin.token), `__proto__${"x".repeat(5_000)}`);
    await expect(unknown).rejects.toThrow(/There is no tool "__proto__x{51}"\. tools\/list/);
  });

  test("requests without a token, of another method, too long, or that are not JSON", async () => {
    const send = (method: string, body: string | undefined, headers: Record<string, string>) =>
      admin.app.handle(
        new Request("http://t/admin/v1/mcp", {
          method,
          headers: {
            "Content-Type": "application/json",
            Accept: "application/json, text/event-stream",
            ...headers,
          },
          ...(body !== undefined && { body }),
        }),
      );
    const auth = { Authorization: `Bearer ${admin.token}` };
    const statuses = [
      await send("POST", "{}", {}),
      await send("GET", undefined, auth),
      await send("POST", `"${"x".repeat(1 << 20)}"`, auth),
      await send("POST", "{", auth),
      await send("POST", "[".repeat(100_000), auth),
      await send("POST", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', auth),
    ].map(({ status }) => status);
    expect(statuses).toEqual([401, 405, 413, 400, 400, expect.any(Number)]);
    expect(await names(await overHttp(admin.token))).toContain("look_up"); // it still answers
  });
});

describe("inkling mcp", () => {
  const dataDir = temporaryFolder();
  beforeAll(async () => {
    smallRelease(dataDir, 1);
    await (await openStore(`sqlite://${join(dataDir, "inkling.db")}`)).close();
  });
  const start = (...flags: string[]) =>
    connected(
      new StdioClientTransport({
        command: DIRECT[0]!,
        args: [...DIRECT.slice(1), "mcp", "--data-dir", dataDir, ...flags],
        stderr: "inherit",
      }),
    );

  test("looks up, assesses and reads without a server, and changes nothing", async () => {
    const client = await start();
    const [answer] = (await call(client, "look_up", { values: [ADDRESS] })).json().answers;
    expect(answer.geolocation.city.name).toBe(smallCity(1));
    const assessed = (
      await call(client, "assess_visitor", { visitor: { event: "sign_up", ip: ADDRESS } })
    ).json();
    expect(assessed.decision).toHaveProperty("action");
    expect((await call(client, "look_up_history", { value: ADDRESS })).json().history).toHaveLength(1);
    const { releases } = (await call(client, "list_releases")).json();
    expect(releases).toMatchObject([{ current: true }]);
    expect((await call(client, "list_keys")).json()).toEqual({ keys: [], next_cursor: null });
    expect(await names(client)).not.toContain("data"); // only a server has a state
    await expect(call(client, "data")).rejects.toThrow("needs a running server");
    await expect(call(client, "put_override", OFF)).rejects.toThrow("needs the role `analyst`");
  });

  test("changes what --role allows, and cuts a long output", async () => {
    const client = await start("--role", "analyst", "--author", "ada's agent");
    for (let i = 0; i < 3; i++) await call(client, "put_override", { ...OFF, value: `81.2.69.${i}` });
    const { entries } = (await call(client, "audit", {})).json();
    expect(entries).toHaveLength(3);
    expect(entries[0]).toMatchObject({ author: "ada's agent", source: "mcp", action: "override-added" });
    const { texts } = await call(client, "look_up", { values: Array(100).fill(ADDRESS) });
    expect(texts).toHaveLength(2);
    expect(texts[0]).toHaveLength(60_000);
    expect(texts[1]).toMatch(/^The output has \d+ characters\./);
    const sdk = "@modelcontextprotocol/client";
    tried(import.meta.path, sdk, sdk, "`inkling mcp` and /admin/v1/mcp: list and call tools");
  });
});
