// Tests `?checks=mx` over real sockets on both sides: HTTP requests to the server, and the server's questions to a DNS
// server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type RunningServer, startServer } from "@inkling/server";
import { openStore, parseNewKey } from "@inkling/store";
import { fetch } from "../../harness/checked-fetch.ts";
import { type DnsServer, knowing, mx, startDnsServer } from "../../harness/dns-server.ts";
import { smallDomain, smallRelease } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";

const SLOW_MS = 5_000;
const dataDir = temporaryFolder();
const log: string[] = [];
let dns: DnsServer;
let server: RunningServer;
let token: string;
let otherToken: string;

beforeAll(async () => {
  dns = await startDnsServer(
    knowing(["com"], ({ name }) => {
      if (name === "de" || name.endsWith(".de")) return { rcode: 3 };
      const label = name.split(".")[0]!;
      if (label.startsWith("silent")) return "silent";
      if (label.startsWith("slow")) return { rcode: 3, delayMs: SLOW_MS };
      if (label.startsWith("nx")) return { rcode: 3 };
      if (label.startsWith("null")) return { answers: [mx(name, 0, "")] };
      if (label.startsWith("servfail")) return { rcode: 2 };
      if (label.startsWith("farm")) return { answers: [mx(name, 10, "recv7.erinn.biz")] };
      return { answers: [mx(name, 10, "mx.somewhere.net")] };
    }),
  );
  smallRelease(dataDir, 1);
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  const newKey = async (name: string) =>
    (await store.createKey(parseNewKey({ name, scopes: ["email"], rate: 0 }, Date.now()))).token;
  token = await newKey("test");
  otherToken = await newKey("other");
  await store.close();
  server = await startServer({
    ...testServerOptions(dataDir),
    burst: 2000,
    dnsServers: [`127.0.0.1:${dns.port}`],
    logLevel: "access",
    writeLog: (lines) => log.push(lines),
  });
});
afterAll(async () => {
  await server.stop();
  dns.stop();
});

const askOnce = (address: string, query: string, key = token) =>
  fetch(`http://127.0.0.1:${server.port}/v1/user-intel/email/${encodeURIComponent(address)}${query}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
/** On a busy machine, DNS may take longer than a request waits (500 ms). The lookup continues in the background. */
async function send(address: string, query = "?checks=mx"): Promise<Response> {
  for (;;) {
    const response = await askOnce(address, query);
    const { checks } = (await response.clone().json()) as { checks?: { mx: string } };
    if (checks?.mx !== "timeout" || /silent|slow/.test(address)) return response;
  }
}
const answerFor = async (address: string, query?: string): Promise<unknown> =>
  (await send(address, query)).json();

const ordinary = { valid: true, disposable: false, providers: [] };

describe("verdicts", () => {
  const rows: [address: string, want: object][] = [
    ["jane@found.com", { ...ordinary, checks: { mx: "found" } }],
    ["jane@nx.com", { ...ordinary, valid: false, checks: { mx: "nxdomain" } }],
    // This DNS server has no "de" zone at all, so NXDOMAIN below it proves nothing.
    ["jane@web.de", { ...ordinary, checks: { mx: "failed" } }],
    ["jane@null.com", { ...ordinary, valid: false, checks: { mx: "null" } }],
    ["jane@servfail.com", { ...ordinary, checks: { mx: "failed" } }],
    ["jane@silent.com", { ...ordinary, checks: { mx: "timeout" } }],
    ["jane@slow.com", { ...ordinary, checks: { mx: "timeout" } }],
    ["jane@farm.com", { valid: true, disposable: true, providers: ["kuku.lu"], checks: { mx: "found" } }],
    [
      "jane doe@farm.com",
      { valid: false, disposable: true, providers: ["kuku.lu"], checks: { mx: "found" } },
    ],
    ["jane@example.com", { ...ordinary, valid: false, checks: { mx: "skipped" } }],
    ["jane", { ...ordinary, valid: false, checks: { mx: "skipped" } }],
  ];
  test.concurrent.each(rows)("%s", async (address, want) => {
    const response = await send(address);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual(want);
  });

  test("a list's verdict is kept, whatever the result of DNS", async () => {
    const listed = { valid: true, disposable: true, providers: [smallDomain(1)] };
    expect(await answerFor(`jane@farm.${smallDomain(1)}`)).toEqual({ ...listed, checks: { mx: "found" } });
    expect(await answerFor(`jane@silent.${smallDomain(1)}`)).toEqual({
      ...listed,
      checks: { mx: "timeout" },
    });
    expect(await answerFor(`jane@nx.${smallDomain(1)}`)).toEqual({
      ...listed,
      valid: false,
      checks: { mx: "nxdomain" },
    });
  });

  test("evidence names the mail host", async () => {
    expect(await answerFor("jane@farm.com", "?include=evidence&checks=mx")).toMatchObject({
      disposable: true,
      evidence: [{ feed: "inkling", label: "mail_host", effect: "sets", mail_host: "erinn.biz" }],
    });
  });

  test("without the parameter no question is sent", async () => {
    const before = dns.questions.length;
    expect(await answerFor("jane@nx-plain.com", "")).toEqual(ordinary);
    expect(await answerFor("jane@nx-plain.com", "?include=evidence")).toEqual({ ...ordinary, evidence: [] });
    expect(dns.questions.length).toBe(before);
  });

  test("HEAD waits, too, and has no body", async () => {
    const response = await fetch(
      `http://127.0.0.1:${server.port}/v1/user-intel/email/jane%40head.com?checks=mx`,
      {
        method: "HEAD",
        headers: { Authorization: `Bearer ${token}` },
      },
    );
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});

test("2,000 distinct domains at once: each has its answer; plain lookups and other keys go on meanwhile", async () => {
  const many = Promise.all(Array.from({ length: 2_000 }, (_, i) => answerFor(`jane@silent${i}.com`)));
  for (let i = 0; i < 50; i++) expect(await answerFor(`jane@plain${i}.com`, "")).toEqual(ordinary);
  const mxOf = async (address: string) =>
    ((await (await askOnce(address, "?checks=mx", otherToken)).json()) as { checks: { mx: string } }).checks
      .mx;
  for (let i = 0; i < 20; i++) expect(["found", "timeout"]).toContain(await mxOf(`jane@other${i}.com`));
  await until(async () => (await mxOf("jane@another.com")) === "found");
  const outcomes = new Map<string, number>();
  for (const answer of (await many) as { checks: { mx: string } }[]) {
    const { checks, ...rest } = answer;
    expect(rest).toEqual(ordinary);
    outcomes.set(checks.mx, (outcomes.get(checks.mx) ?? 0) + 1);
  }
  expect([...outcomes.keys()].sort()).toEqual(["busy", "timeout"]);
  expect(outcomes.get("busy")! + outcomes.get("timeout")!).toBe(2_000);
  const names = new Set(dns.questions.map(({ name }) => name).filter((name) => /^silent\d/.test(name)));
  expect(names.size).toBeGreaterThan(0);
  expect(names.size).toBeLessThan(2_000);
});

test("metrics count outcomes; neither they nor the log contain a domain", async () => {
  const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
  expect(metrics).toMatch(/^inkling_mx_checks_total\{outcome="nxdomain"\} [1-9]/m);
  expect(metrics).toMatch(/^inkling_mx_lookups_total\{outcome="null"\} [1-9]/m);
  for (const text of [metrics, log.join("")])
    expect(text.match(/.{0,40}(?:@|%40|\.com|\.biz|silent\d).{0,40}/)).toBeNull();
  expect(log.join("")).toContain("user-intel");
});

test("a stop answers requests that wait for DNS, and closes everything", async () => {
  const waiting = answerFor("jane@silent-at-the-end.com");
  while (!dns.questions.some(({ name }) => name.startsWith("silent-at"))) await Bun.sleep(1);
  await server.stop();
  expect(await waiting).toEqual({ ...ordinary, checks: { mx: "timeout" } });
});
