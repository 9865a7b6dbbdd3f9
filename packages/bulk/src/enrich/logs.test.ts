// Tests log lines as programs write them, and as attackers manipulate them.

import { describe, expect, test } from "bun:test";
import { fieldNames, LOG_NAMES, lineReader } from "./logs.ts";
import { planFor } from "./plan.ts";

const BAD = "8.8.8.8"; // the address that an attacker injects
const TIME = "[22/Nov/2026:10:00:00 +0000]";
const ACCESS = (client: string, request = "GET / HTTP/1.1", agent = "Mozilla/5.0 Chrome/120.0.0.0") =>
  `${client} - - ${TIME} "${request}" 200 612 "-" "${agent}"`;
const ALB = (client: string) =>
  `h2 2026-11-22T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 ${client} 10.0.0.66:9000 0.000 0.002 0.000 200 200 34 366 "GET https://www.example.com:443/?ip=${BAD} HTTP/2.0" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:x "Root=1-58337262-36d228ad5d99923122bbe354" "www.example.com" "-" 1 2026-11-22T22:22:48.364000Z "forward" "-" "-" "10.0.0.66:9000" "200" "-" "-"`;
const HAPROXY = (client: string) =>
  `${client} [22/Nov/2026:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {${BAD}} {} "GET /index.html?x=${BAD} HTTP/1.1"`;
/** A line and its client. "" means no client; undefined means that the line is not in the format. */
type Row = readonly [format: string, line: string, client: string | undefined];

const LINES: readonly Row[] = [
  ["combined", ACCESS("203.0.113.9"), "203.0.113.9"],
  ["combined", ACCESS("2001:db8::1"), "2001:db8::1"],
  ["combined", ACCESS("host.example"), "host.example"],
  ["combined", ACCESS("203.0.113.9", `GET /?ip=${BAD} HTTP/1.1`, `${BAD} Chrome/120.0.0.0`), "203.0.113.9"],
  ["combined", ACCESS("203.0.113.9", `\\x22 \\" ${BAD}`), "203.0.113.9"],
  ["combined", `203.0.113.9 - John [1] "${BAD} - - ${TIME} "GET /" 200 5 "-" "-"`, "203.0.113.9"],
  ["combined", `${ACCESS("203.0.113.9")} "${BAD}, 10.0.0.1"`, "203.0.113.9"],
  ["combined", `203.0.113.9 - - ${TIME} "GET / HTTP/1.1" 200 612`, undefined],
  ["combined", ACCESS(`${BAD},203.0.113.9`), undefined],
  ["combined", `  at Client.get (${BAD}:443)`, undefined],
  ["combined", ACCESS("203.0.113.9").slice(0, 40), undefined],
  [
    "common",
    `203.0.113.9 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326`,
    "203.0.113.9",
  ],
  ["common", `203.0.113.9 - - ${TIME} "-" 408 -`, "203.0.113.9"],
  ["alb", ALB("203.0.113.9:2817"), "203.0.113.9"],
  ["alb", ALB("[2001:db8::1]:2817"), "2001:db8::1"],
  ["alb", ALB("2001:db8::1:2817"), "2001:db8::1"],
  ["haproxy", HAPROXY("203.0.113.9:33317"), "203.0.113.9"],
  ["haproxy", HAPROXY("2001:db8::1:33317"), "2001:db8::1"],
  [
    "haproxy",
    "203.0.113.9:33313 [22/Nov/2026:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0",
    "203.0.113.9",
  ],
  ["haproxy", `Proxy ${BAD}:80 started.`, undefined],
];

const read = (format: string, field?: string) => lineReader(format as (typeof LOG_NAMES)[number], field);

describe("the client of a line", () => {
  test.each(LINES)("%s: %s", (format, line, client) => expect(read(format)(line)).toBe(client));
  test("X-Forwarded-For, on request", () => {
    const forwarded = read("combined", "x_forwarded_for");
    expect(forwarded(`${ACCESS("10.0.0.1")} "203.0.113.9, 10.0.0.1"`)).toBe("203.0.113.9, 10.0.0.1");
    expect(forwarded(ACCESS("10.0.0.1"))).toBe("");
  });
  test("every format names its client", () => {
    for (const name of LOG_NAMES) expect(fieldNames(name)).toContain("client");
  });
});

const W3C = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method\n";
const json = (value: unknown) => `${JSON.stringify(value)}\n`;

describe("the format of a file", () => {
  test.each<[what: string, head: string, want: object]>([
    ["combined", `${ACCESS("203.0.113.9")}\n`, { format: "combined", ip: "client" }],
    ["common", `203.0.113.9 - - ${TIME} "GET /" 200 5\n`, { format: "common" }],
    ["ALB", `${ALB("203.0.113.9:1")}\n`, { format: "alb" }],
    ["HAProxy", `${HAPROXY("203.0.113.9:1")}\n`, { format: "haproxy" }],
    [
      "CloudFront",
      `${W3C}2026-11-22\t10:00:00\tFRA\t5\t203.0.113.9\tGET\n`,
      { format: "w3c", ip: 4, delimiter: "\t" },
    ],
    ["IIS", "#Fields: s-ip c-ip\n10.0.0.1 203.0.113.9\n", { format: "w3c", ip: 1, delimiter: " " }],
    ["a few broken lines first", `x\n${`${ACCESS("203.0.113.9")}\n`.repeat(2)}`, { format: "combined" }],
    [
      "Caddy",
      json({
        level: "info",
        request: {
          remote_ip: "10.0.0.1",
          client_ip: "203.0.113.9",
          headers: { "X-Real-Ip": BAD, "X-Forwarded-For": [BAD] },
        },
      }),
      { format: "ndjson", ip: "request.client_ip" },
    ],
    [
      "JSON of nginx",
      json({
        x_forwarded_for: BAD,
        http_x_real_ip: BAD,
        version: "1.2.3.4",
        server_addr: "10.0.0.1",
        remote_addr: "203.0.113.9",
      }),
      { format: "ndjson", ip: "remote_addr" },
    ],
    [
      "Elastic",
      json({ host: { ip: "10.0.0.1" }, destination: { ip: BAD }, source: { ip: "203.0.113.9" } }),
      {
        ip: "source.ip",
      },
    ],
    [
      "Google Cloud",
      json({ httpRequest: { serverIp: "10.0.0.1", remoteIp: "203.0.113.9" } }),
      {
        ip: "httpRequest.remoteIp",
      },
    ],
    [
      "CloudTrail",
      json({ eventVersion: "1.0.0.1", sourceIPAddress: "203.0.113.9" }),
      { ip: "sourceIPAddress" },
    ],
    [
      "a telling name that is in one row only",
      `${json({ ip: "203.0.113.9" }).repeat(9)}${json({ req: { client_ip: "203.0.113.9" } })}`,
      { format: "ndjson", ip: "ip" },
    ],
    [
      "a telling name in as many rows",
      json({ ip: "203.0.113.9", req: { client_ip: "203.0.113.9" } }),
      { ip: "req.client_ip" },
    ],
    [
      "a server's address in more rows",
      `${json({ server_addr: "10.0.0.1" }).repeat(9)}${json({ remote_addr: "203.0.113.9" })}`,
      { ip: "remote_addr" },
    ],
    ["Cloudflare", json({ ClientIP: "203.0.113.9", OriginIP: "10.0.0.1" }), { ip: "ClientIP" }],
    ["Traefik", json({ ClientAddr: "203.0.113.9:5", ClientHost: "203.0.113.9" }), { ip: "ClientAddr" }],
    [
      "Envoy",
      json({ upstream_host: "10.0.0.1:80", downstream_remote_address: "203.0.113.9:5" }),
      {
        ip: "downstream_remote_address",
      },
    ],
    [
      "pino",
      json({ req: { headers: { "x-real-ip": BAD }, remoteAddress: "203.0.113.9", remotePort: 5 } }),
      {
        ip: "req.remoteAddress",
      },
    ],
    [
      "a postal address",
      json({ address: "Main St 1", user_address: "5", email: "a@b.com" }),
      { email: "email", ip: undefined },
    ],
    [
      "a member without a name that helps",
      json({ server: "10.0.0.1:80", who: "203.0.113.9:5" }),
      { ip: "who" },
    ],
  ])("%s", (_, head, want) => {
    expect(planFor(head, "-", {})).toMatchObject(want);
    expect(planFor(head, "access.log.gz", { format: "log" })).toMatchObject(want);
  });

  test.each<[what: string, head: string, name: string, options: object, message: string]>([
    ["free text", "203.0.113.9 did something\n", "-", {}, "standard input has an unknown format"],
    ["free text in a log", "a, 203.0.113.9\n", "x.log", {}, "x.log has an unknown format"],
    [
      "only what a request may set",
      json({ xff: BAD, x_real_ip: BAD }),
      "-",
      {},
      "no column with IP addresses",
    ],
    [
      "a field that is not there",
      `${ACCESS("203.0.113.9")}\n`,
      "-",
      { ipColumn: "xff" },
      'there is no column "xff"',
    ],
    ["a w3c log without names", "a b\n", "-", { format: "w3c" }, "no line that starts with #Fields:"],
    ["a w3c log without c-ip", "#Fields: s-ip\n", "-", {}, "there is no column c-ip"],
    [
      "email addresses of a log",
      `${ACCESS("203.0.113.9")}\n`,
      "-",
      { emailColumn: "user" },
      "a log has no column with email",
    ],
  ])("%s: refused", (_, head, name, options, message) =>
    expect(() => planFor(head, name, options)).toThrow(message),
  );

  test.each<[what: string, head: string, options: object, want: string[]]>([
    [
      "in most rows",
      json({ ip: "203.0.113.9", client_ip: "203.0.113.9", xff: BAD, server_addr: "10.0.0.1" }),
      {},
      ["most rows also have IP addresses in ip: to look up another column, name it with --ip-column"],
    ],
    [
      "in half of the rows",
      `${json({ a: "203.0.113.9", b: "203.0.113.9" })}${json({ a: "203.0.113.9" })}`,
      {},
      [],
    ],
    ["of a named column", json({ ip: "203.0.113.9", client_ip: "203.0.113.9" }), { ipColumn: "ip" }, []],
    [
      "of CSV, of both kinds",
      "client_ip,peer_ip,mail,m2\n203.0.113.9,203.0.113.9,a@b.com,a@b.com\n",
      {},
      [
        "most rows also have IP addresses in peer_ip: to look up another column, name it with --ip-column",
        "most rows also have email addresses in m2: to look up another column, name it with --email-column",
      ],
    ],
  ])("other columns with addresses: %s", (_, head, options, want) =>
    expect(planFor(head, "-", options).othersTitles).toEqual(want),
  );

  test("what is recognized can be read in words", () => {
    expect(planFor(`${ACCESS("203.0.113.9")}\n`, "-", {}).title).toBe(
      "combined (nginx or Apache, combined), IP addresses in client",
    );
    expect(planFor("a,client_ip\n1,203.0.113.9\n", "-", {}).title).toBe("csv, IP addresses in client_ip");
    expect(planFor(`${W3C}\n`, "-", {}).title).toBe("w3c, IP addresses in c-ip");
  });
});
