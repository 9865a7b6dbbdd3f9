// Tests that no spelling of a path passes a rule of a proxy in front. Bun resolves "..", and turns "\" into "/". The
// server therefore refuses every path that is not spelled as it is routed, on both listeners, over raw sockets.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AttackedServer, startAttackedServer } from "./attacked-server.ts";
import { converse, responsesIn } from "./raw-http.ts";

/** Spellings that some parser reads as /A/B, where the target is /A/B. */
const SPELLINGS = (target: string): string[] => {
  const [first, ...others] = target.slice(1).split("/") as [string, ...string[]];
  const rest = others.join("/");
  const encoded = (text: string) => `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`;
  return [
    `\\${first}/${rest}`,
    `/\\${first}/${rest}`,
    `\\/${first}/${rest}`,
    `/${first}\\${rest}`,
    `/${first}\\/${rest}`,
    `/${first}/\\${rest}`,
    `/${first}\\\\${rest}`,
    `//${first}/${rest}`,
    `///${first}/${rest}`,
    `/${first}//${rest}`,
    `/${first}/${rest}//`,
    `/./${first}/${rest}`,
    `/${first}/./${rest}`,
    `/${first}/${rest}/.`,
    `/../${first}/${rest}`,
    `/x/../${first}/${rest}`,
    `/${first}/x/../${rest}`,
    `/${first}/${rest}/x/..`,
    `/${first}/${rest}/x/../`,
    `/x/y/../../${first}/${rest}`,
    `/metrics/../${first}/${rest}`,
    `/healthz/../${first}/${rest}`,
    `/v1/ip-intel/geolocate/../../../${first}/${rest}`,
    `/v1/ip-intel/geolocate/..\\..\\..\\${first}\\${rest}`,
    `/v1/user-intel/email/..\\..\\..\\${first}\\${rest}`,
    `/x\\..\\${first}\\${rest}`,
    `/x/..\\${first}/${rest}`,
    `/x\\../${first}/${rest}`,
    `/%2e/${first}/${rest}`,
    `/%2E/${first}/${rest}`,
    `/x/%2e%2e/${first}/${rest}`,
    `/x/.%2e/${first}/${rest}`,
    `/x/%2E./${first}/${rest}`,
    `/x%2f..%2f${first}/${rest}`,
    `/x/..%2f${first}/${rest}`,
    `/x/..%5c${first}/${rest}`,
    `/${first}%2f${rest}`,
    `/${first}%2F${rest}`,
    `/${first}%5c${rest}`,
    `/${first}%5C${rest}`,
    `/%2f${first}/${rest}`,
    `/${first}/${rest}%2f`,
    `/${first}/${rest}%2f..%2f${others.at(-1)}`,
    `/${first}/${rest}\\`,
    `/${first}/x//../${rest}`,
    `//x/../${first}/${rest}`,
    `/${"x/../".repeat(20)}${first}/${rest}`,
    `/${"a/".repeat(20)}${"../".repeat(20)}${first}/${rest}`,
    `http://t/x/../${first}/${rest}`,
    `http://t//${first}/${rest}`,
    `http://t/${first}\\${rest}`,
    // These are other paths, which no route matches. In `http://t\\`, the backslash is part of the host.
    `http://t\\..\\${first}/${rest}`,
    `/${encoded(first)}/${rest}`,
    `/${first}/${encoded(rest)}`,
    `/${first.toUpperCase()}/${rest}`,
    `/${first}/${rest};x`,
    `/${first};x/${rest}`,
    `/${first}/${rest}/`,
    `/${first}/${rest}%00`,
    `/${first}/..;/${first}/${rest}`,
    `/%252e%252e/${first}/${rest}`,
    `/%c0%ae%c0%ae/${first}/${rest}`,
    `/${first}/${rest}#`,
    `/${first}%E2%81%84${rest}`,
  ];
};

const bytesOf = (target: string, version: string, headers: string) =>
  Buffer.from(`GET ${target} HTTP/${version}\r\n${headers}Connection: close\r\n\r\n`, "latin1");

async function statusOf(port: number, target: string, headers: string, version = "1.1"): Promise<number> {
  const answers = responsesIn(await converse(port, bytesOf(target, version, headers), () => false));
  expect(answers.length).toBe(1);
  return answers[0]!.status;
}

describe.each([1, 2])("with %i workers", (workers) => {
  let server: AttackedServer;
  beforeAll(async () => {
    server = await startAttackedServer(workers);
  });
  afterAll(() => server.stop());

  const PUBLIC = ["/v1/forward-auth", "/v1/status", "/v1/ip-intel/geolocate/81.2.69.142"];
  const ADMIN = ["/admin/v1/keys", "/admin/v1/admin-tokens"];

  test("there are enough spellings, each once", () => {
    const all = SPELLINGS("/v1/forward-auth");
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(60);
  });

  test.each(PUBLIC)("public: %s", async (target) => {
    const headers = `Host: t\r\nAuthorization: Bearer ${server.keys.live}\r\nX-Forwarded-For: 81.2.69.142\r\n`;
    expect(await statusOf(server.port, target, headers)).toBe(200);
    expect(await statusOf(server.port, `http://t${target}`, headers)).toBe(200);
    expect(await statusOf(server.port, `${target}?`, headers)).toBe(200);
    for (const spelling of SPELLINGS(target)) {
      const status = await statusOf(server.port, spelling, headers);
      expect([400, 404], `${spelling}: ${status}`).toContain(status);
      // Without Host, the runtime gives the target as sent.
      const old = await converse(
        server.port,
        bytesOf(spelling, "1.0", headers.replace("Host: t\r\n", "")),
        () => false,
      );
      expect([400, 404], spelling).toContain(responsesIn(old)[0]!.status);
    }
  });

  test.each(ADMIN)("admin: %s", async (target) => {
    const headers = `Host: localhost\r\nAuthorization: Bearer ${server.adminToken}\r\n`;
    expect(await statusOf(server.adminPort, target, headers)).toBe(200);
    for (const spelling of SPELLINGS(target)) {
      const status = await statusOf(server.adminPort, spelling, headers);
      expect([400, 404], `${spelling}: ${status}`).toContain(status);
    }
  });

  test.each(["/metrics", "/assets/x"])("beside the admin API: %s", async (target) => {
    const headers = "Host: localhost\r\n";
    for (const spelling of [
      `/x/..${target}`,
      `/.${target}`,
      `/${target}`,
      `/x\\..${target}`,
      `${target}\\..${target}`,
    ])
      expect(await statusOf(server.adminPort, spelling, headers), spelling).toBe(400);
  });

  test("PATH_INVALID: what differs from the path as routed is 400, what is another path is 404", async () => {
    const headers = `Host: t\r\nAuthorization: Bearer ${server.keys.live}\r\n`;
    for (const spelling of SPELLINGS("/v1/forward-auth")) {
      const isOther =
        /^\/(%76|v1\/%66|V1|v1;|v1\/forward-auth(;|\/$|%00|#)|v1\/\.\.;|%252e|%c0|v1%E2)|^http:\/\/t\\/.test(
          spelling,
        );
      expect([spelling, await statusOf(server.port, spelling, headers)]).toEqual([
        spelling,
        isOther ? 404 : 400,
      ]);
    }
  });

  test("values may contain an encoded slash, and a query anything", async () => {
    const headers = `Host: t\r\nAuthorization: Bearer ${server.keys.live}\r\n`;
    const email = "/v1/user-intel/email/";
    expect(await statusOf(server.port, `${email}a%2Fb@example.org`, headers)).toBe(200);
    expect(await statusOf(server.port, `${email}%22a%5Cb%22@example.org`, headers)).toBe(200);
    expect(await statusOf(server.port, `${email}%22a%5C\\..\\b%22@example.org`, headers)).toBe(400);
    expect(await statusOf(server.port, `${email}a\\..\\b@example.org`, headers)).toBe(400);
    expect(await statusOf(server.port, "/v1/forward-auth?deny=//..\\%2f", headers)).toBe(400); // PARAMETER_INVALID
    expect(await statusOf(server.port, "/healthz?//..\\%2f", headers)).toBe(200);
  });
});
