// Fuzzes messages of agents to /admin/v1/mcp, with a token that may only read. The response is JSON and no 5xx, and
// nothing changes.

import { adminServer, closeAdminServers } from "../../harness/admin-server.ts";
import type { Target } from "../target.ts";

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

export default async function agents(): Promise<Target> {
  const { app, ask, store, lines } = await adminServer();
  const { token } = (await ask("POST", "admin-tokens", { name: "reader", role: "read" })).document;
  const entries = async () => (await store.overrides.audit({ limit: 100 })).items.length;
  const before = await entries();
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };
  return {
    corpus: GOOD.map((message) => Buffer.from(JSON.stringify(message))),
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
      const body = Uint8Array.from(input);
      const response = await app.handle(
        new Request("http://t/admin/v1/mcp", { method: "POST", headers, body }),
      );
      const text = await response.text();
      if (response.status >= 500) throw new Error(`${response.status} ${text}`);
      if (text === "") return String(response.status);
      const data = text.startsWith("event:") ? (/^data: (.*)$/m.exec(text)?.[1] ?? "") : text;
      const answer = JSON.parse(data) as { result?: { isError?: boolean }; error?: object; code?: string };
      if (answer.result !== undefined) return answer.result.isError === true ? "refused" : "answered";
      return answer.error === undefined ? String(answer.code) : "protocol error";
    },
    close: async () => {
      if ((await entries()) !== before) throw new Error("a token that may only read changed something");
      await closeAdminServers();
    },
  };
}
