// Fuzzes messages of agents to /admin/v1/mcp, with a token that may only read. The response is JSON and no 5xx, and
// nothing changes. Random damage rarely leaves a message that reaches a tool, so three quarters of the cases are valid
// calls with arguments that fit the tool's schema, or do not.

import { adminServer, closeAdminServers } from "../../harness/admin-server.ts";
import type { Random, Target } from "../target.ts";

const call = (name: string, args: object, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});
const GOOD = [
  {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "0" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 1, method: "tools/list" },
  call("list_overrides", { limit: 10 }),
  call("list_decisions", { event: "sign_up", limit: 3, action: "deny" }, "a"),
  call("audit", { since: "2026-01-01T00:00:00Z" }),
  call("put_override", { value: "81.2.69.142", flag: "is_tor_exit", verdict: false, note: "our office" }),
  call("create_key", { name: "x" }),
];

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly minimum?: number;
  readonly maximum?: number;
}
interface Tool {
  readonly name: string;
  readonly inputSchema: Schema;
}

const TEXTS = [
  "81.2.69.142",
  "2a02:8010::/48",
  "jane@gmail.com",
  "2026-01-01T00:00:00Z",
  "key_0123456789abcdef",
  "is_tor_exit",
  "deny",
  "1",
];
const HOSTILE: readonly unknown[] = [
  null,
  "",
  -1,
  0.5,
  2 ** 53,
  true,
  [],
  [[[[]]]],
  {},
  JSON.parse('{"__proto__":{"limit":1}}'),
  "\0\ud800\u202e",
  "' OR 1=1 --",
  "%".repeat(300),
  "a".repeat(100_000),
  Array(2_000).fill("8.8.8.8"),
];

const oneOf = <T>(all: readonly T[], random: Random): T => all[random(all.length)]!;

/** @returns a value that usually fits the schema */
function argument(schema: Schema, random: Random, text: string): unknown {
  if (random(5) === 0) return oneOf([...HOSTILE, text], random);
  if (schema.anyOf !== undefined) return argument(oneOf(schema.anyOf, random), random, text);
  if (schema.enum !== undefined) return oneOf(schema.enum, random);
  switch (schema.type) {
    case "object":
      return argumentsOf(schema, random, text);
    case "array":
      return Array.from({ length: random(4) }, () => argument(schema.items ?? {}, random, text));
    case "boolean":
      return random(2) === 0;
    case "integer":
    case "number":
      return oneOf([schema.minimum ?? 0, schema.maximum ?? 9, 1], random);
    default:
      return oneOf(TEXTS, random);
  }
}

function argumentsOf({ properties = {} }: Schema, random: Random, text: string): object {
  const given = Object.entries(properties)
    .filter(() => random(2) === 0)
    .map(([name, schema]) => [name, argument(schema, random, text)]);
  if (random(20) === 0) given.push([text, 1]);
  return Object.fromEntries(given);
}

export default async function agents(): Promise<Target> {
  const { app, ask, store, lines } = await adminServer();
  const { token } = (await ask("POST", "admin-tokens", { name: "reader", role: "read" })).document;
  const entries = async () => (await store.audit.list({ limit: 100 })).items.length;
  const before = await entries();
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };
  const request = (body: Uint8Array<ArrayBuffer>) =>
    app.handle(new Request("http://t/admin/v1/mcp", { method: "POST", headers, body }));
  const documentOf = (text: string) =>
    JSON.parse(text.startsWith("event:") ? (/^data: (.*)$/m.exec(text)?.[1] ?? "") : text);
  const listed = await request(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
  const { tools } = documentOf(await listed.text()).result as { tools: readonly Tool[] };
  return {
    corpus: GOOD.map((message) => Buffer.from(JSON.stringify(message))),
    repair: (damaged, random) => {
      if (random(4) === 0) return damaged;
      const tool = oneOf(tools, random);
      const text = Buffer.from(damaged).toString("utf8");
      return Buffer.from(JSON.stringify(call(tool.name, argumentsOf(tool.inputSchema, random, text), text)));
    },
    tokens: [
      '"method":"',
      '"params":{',
      '"id":null',
      "tools/call",
      '"arguments":{',
      '"name":"put_override"',
      '"__proto__":{}',
      "[[[[",
      "\\u0000",
      "\\ud800",
      "1e999",
      '"limit":-1',
      "},{",
    ],
    check: async (input) => {
      lines.length = 0; // the test's copy of the log, which would grow with each message
      const response = await request(Uint8Array.from(input));
      const text = await response.text();
      if (response.status >= 500) throw new Error(`${response.status} ${text}`);
      if (text === "") return String(response.status);
      const answer = documentOf(text) as { result?: { isError?: boolean }; error?: object; code?: string };
      if (answer.result !== undefined) return answer.result.isError === true ? "refused" : "answered";
      return answer.error === undefined ? String(answer.code) : "protocol error";
    },
    close: async () => {
      if ((await entries()) !== before) throw new Error("a token that may only read changed something");
      await closeAdminServers();
    },
  };
}
