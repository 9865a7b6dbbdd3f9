// Tests `inkling enrich` as users run it, on a small release. 81.2.69.0/24 is a proxy in City 1, and disposable-1.com
// is listed.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { openServable } from "@inkling/data";
import { Overrides } from "@inkling/engine";
import fc from "fast-check";
import { smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../../../cli/src/program.testing.ts";
import { untilStopped } from "../errors.ts";
import { BLOCK_BYTES, blocks } from "./blocks.ts";
import { enrich } from "./enrich.ts";
import type { Tally } from "./enricher.ts";
import { type EnrichOptions, planFor } from "./plan.ts";
import { OwnThread, Threads } from "./pool.ts";
import { lastRowEnd } from "./rows.ts";
import { makeEnricher, type Start } from "./worker.ts";

const temp = temporaryFolder();
const dataDir = join(temp, "data");
smallRelease(dataDir, 1);
const release = openServable(dataDir).name;
const encoder = new TextEncoder();

const inkling = (...args: string[]) => runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp });

function startFor(head: string, options: EnrichOptions, withSummary = false): Start {
  const plan = planFor(head, "-", options);
  return { plan, dataDir, release, overrides: Overrides.NONE.all, now: 0, withSummary, unknown: [] };
}

/** Enriches a text in one block. */
function enriched(text: string, options: EnrichOptions = {}): string {
  const enricher = makeEnricher(startFor(text, options));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    enricher.block(encoder.encode(text), true).bytes,
  );
}

const ACCESS = '- - [22/Nov/2026:10:00:00 +0000] "GET /?81.2.69.1 HTTP/1.1" 200 5 "-" "Chrome/81.2.69.1"';
const file = (name: string, text: string) => {
  const path = join(temp, name);
  writeFileSync(path, text);
  return path;
};

const NETWORK_NAMES =
  "network_asn,network_organization,network_kind,network_shared,network_services,network_operator,network_prefix";
const FEW = { add: ["country_iso_code", "is_proxy"] };

test("rows that are looked up together become what each becomes alone", () => {
  const flag = (value: string, verdict: boolean) => ({
    id: `ovr_${value}`,
    kind: "network",
    value,
    flag: "is_abuser",
    verdict,
  });
  const overrides = [
    flag("81.2.69.0/26", true),
    flag("9.0.0.0/8", true),
  ] as unknown as typeof Overrides.NONE.all;
  const byte = fc.nat(255);
  const cell = fc.oneof(
    byte.map((last) => `81.2.69.${last}`),
    byte.map((last) => `::ffff:81.2.69.${last}`),
    byte.map((last) => `[81.2.69.${last}]:443`),
    byte.map((first) => `${first}.8.8.8`),
    byte.map((last) => `2a02:8010::${last.toString(16)}`),
    byte.map((last) => `"10.0.0.${last}, 81.2.69.${last}"`),
    fc.constantFrom("", "x", "10.0.0.1", "081.2.69.1", "2001:db8::1", "\u00fc"),
  );
  const add = ["country_iso_code", "city_name", "is_proxy", "is_abuser", "network_prefix", "disposable"];
  const head = "ip,email\n81.2.69.1,a@disposable-1.com\n";
  const start = { ...startFor(head, { add }), overrides };
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  let long = 0;
  fc.assert(
    fc.property(fc.array(cell, { maxLength: 200, size: "max" }), (cells) => {
      const rows = cells.map((text, i) => `${text},${i % 3}@disposable-${i % 2}.com\n`);
      if (rows.length > 64) long++;
      const [together, alone] = [makeEnricher(start), makeEnricher(start)];
      const want = rows.map((row) => decode(alone.block(encoder.encode(row), false).bytes)).join("");
      expect(decode(together.block(encoder.encode(rows.join("")), false).bytes)).toBe(want);
      expect(together.tally()).toEqual(alone.tally());
    }),
    { numRuns: 30, seed: 1, endOnFailure: true },
  );
  expect(long).toBeGreaterThan(5);
});

describe("formats", () => {
  test.each<[what: string, options: EnrichOptions, text: string, want: string]>([
    ["one column", FEW, "81.2.69.142\n8.8.8.8\n", "81.2.69.142,GB,true\n8.8.8.8,,false\n"],
    [
      "several columns, rows of other widths",
      { ...FEW, ipColumn: ["b", "a"], prefix: "x_" },
      "a,b\n81.2.69.142,8.8.8.8\n8.8.8.8\n\n8.8.8.8,81.2.69.142,z\n",
      "a,b,x_b_country_iso_code,x_b_is_proxy,x_a_country_iso_code,x_a_is_proxy\n81.2.69.142,8.8.8.8,,false,GB,true\n8.8.8.8,,,,,false\n\n8.8.8.8,81.2.69.142,z,GB,true,,false\n",
    ],
    [
      "several columns without names",
      { ...FEW, ipColumn: ["1", "2"] },
      "81.2.69.142,8.8.8.8\n",
      "81.2.69.142,8.8.8.8,GB,true,,false\n",
    ],
    [
      "several fields of NDJSON",
      { ...FEW, ipColumn: ["a", "b.c"], emailColumn: "m" },
      '{"a":"81.2.69.142","b":{"c":"8.8.8.8"}}\n{}\nx\n',
      '{"a":"81.2.69.142","b":{"c":"8.8.8.8"},"a_country_iso_code":"GB","a_is_proxy":true,"b.c_is_proxy":false}\n{}\nx\n',
    ],
    ["no line end at the end", FEW, "81.2.69.142\n8.8.8.8", "81.2.69.142,GB,true\n8.8.8.8,,false"],
    [
      "Windows line ends",
      FEW,
      "ip\r\n81.2.69.142\r\n",
      "ip,country_iso_code,is_proxy\r\n81.2.69.142,GB,true\r\n",
    ],
    ["a header", FEW, "ip,n\n81.2.69.142,1\n", "ip,n,country_iso_code,is_proxy\n81.2.69.142,1,GB,true\n"],
    [
      "quotes",
      FEW,
      'ip,n\n"81.2.69.142","a ""b"", c"\n',
      'ip,n,country_iso_code,is_proxy\n"81.2.69.142","a ""b"", c",GB,true\n',
    ],
    [
      "a row over two lines",
      FEW,
      'n,ip\n"two\nlines",81.2.69.142\n',
      'n,ip,country_iso_code,is_proxy\n"two\nlines",81.2.69.142,GB,true\n',
    ],
    [
      "white space around a value",
      FEW,
      "n,ip\n1, 81.2.69.142 \n",
      "n,ip,country_iso_code,is_proxy\n1, 81.2.69.142 ,GB,true\n",
    ],
    ["blank lines", FEW, "81.2.69.142\n\n81.2.69.142\n", "81.2.69.142,GB,true\n\n81.2.69.142,GB,true\n"],
    ["a row that is too short", FEW, "n,ip\n1\n", "n,ip,country_iso_code,is_proxy\n1,,,\n"],
    [
      "addresses that nobody visits from, or are none",
      FEW,
      "ip\n10.0.0.1\n081.2.69.142\n::1\nx\n",
      "ip,country_iso_code,is_proxy\n10.0.0.1,,\n081.2.69.142,,\n::1,,\nx,,\n",
    ],
    [
      "addresses with ports, in brackets, in lists",
      FEW,
      'ip\n81.2.69.142:443\n[2001:db8::1]:443\n[::ffff:81.2.69.1]\n"10.0.0.1, 81.2.69.142:5, 8.8.8.8"\n"10.0.0.1, ::1"\nChrome/81.2.69.1\n81.2.69.1 x\n',
      'ip,country_iso_code,is_proxy\n81.2.69.142:443,GB,true\n[2001:db8::1]:443,,\n[::ffff:81.2.69.1],GB,true\n"10.0.0.1, 81.2.69.142:5, 8.8.8.8",GB,true\n"10.0.0.1, ::1",,\nChrome/81.2.69.1,,\n81.2.69.1 x,,\n',
    ],
    [
      "email addresses behind names",
      { add: ["disposable"] },
      'mail\nJane Doe <jane@disposable-1.com>\n"""Doe, Jane"" <jane@disposable-1.com> "\n<x@gmail.com>\n<>\n',
      'mail,disposable\nJane Doe <jane@disposable-1.com>,true\n"""Doe, Jane"" <jane@disposable-1.com> ",true\n<x@gmail.com>,false\n<>,\n',
    ],
    ["a mark of UTF-8", FEW, "\uFEFF81.2.69.142\n8.8.8.8\n", "\uFEFF81.2.69.142,GB,true\n8.8.8.8,,false\n"],
    [
      "a field inside others",
      FEW,
      '{"request":{"client_ip":"81.2.69.142"}}\n{"request":5}\n',
      '{"request":{"client_ip":"81.2.69.142"},"country_iso_code":"GB","is_proxy":true}\n{"request":5}\n',
    ],
    [
      "an access log: the first public address",
      FEW,
      `81.2.69.142 ${ACCESS}\n8.8.8.8 ${ACCESS}\n\nother 81.2.69.142\r\nno address\n`,
      `81.2.69.142 ${ACCESS} country_iso_code=GB is_proxy=true\n8.8.8.8 ${ACCESS} is_proxy=false\n\nother 81.2.69.142 country_iso_code=GB is_proxy=true\r\nno address\n`,
    ],
    [
      "virtual hosts: the client's field is named, and a line without this field remains unchanged",
      { ...FEW, field: 2 },
      `8.8.8.8:80 81.2.69.142 ${ACCESS}\n8.8.8.8:80 10.0.0.1 ${ACCESS}\nshort\n`,
      `8.8.8.8:80 81.2.69.142 ${ACCESS} country_iso_code=GB is_proxy=true\n8.8.8.8:80 10.0.0.1 ${ACCESS}\nshort\n`,
    ],
    [
      "a field that is a list: its first public address",
      { ...FEW, field: 10 },
      `10.0.0.1 ${ACCESS} "10.0.0.2, ::ffff:81.2.69.142, 8.8.8.8"\n`,
      `10.0.0.1 ${ACCESS} "10.0.0.2, ::ffff:81.2.69.142, 8.8.8.8" country_iso_code=GB is_proxy=true\n`,
    ],
    [
      "CloudFront and IIS: comments remain unchanged",
      FEW,
      "#Software: x\n#Fields: s-ip c-ip sc-bytes\n10.0.0.1 81.2.69.142 5\n",
      "#Software: x\n#Fields: s-ip c-ip sc-bytes\n10.0.0.1 81.2.69.142 5 country_iso_code=GB is_proxy=true\n",
    ],
    [
      "a hint for Excel remains the first line",
      FEW,
      "\uFEFFsep=;\r\nip;n\r\n81.2.69.142;1\r\n",
      "\uFEFFsep=;\r\nip;n;country_iso_code;is_proxy\r\n81.2.69.142;1;GB;true\r\n",
    ],
    ["such a hint without a header", FEW, "sep=|\n81.2.69.142|1\n", "sep=|\n81.2.69.142|1|GB|true\n"],
    [
      "lists: the first public address, also inside IPv6",
      FEW,
      'ip\n"::ffff:81.2.69.142, 8.8.8.8"\n"10.0.0.1, ::ffff:81.2.69.142"\n"2002:0a00:0001::1, 81.2.69.142"\n"64:ff9b::5102:458e, 8.8.8.8"\n',
      'ip,country_iso_code,is_proxy\n"::ffff:81.2.69.142, 8.8.8.8",GB,true\n"10.0.0.1, ::ffff:81.2.69.142",GB,true\n"2002:0a00:0001::1, 81.2.69.142",GB,true\n"64:ff9b::5102:458e, 8.8.8.8",GB,true\n',
    ],
    [
      "the same in NDJSON, by name",
      { ...FEW, ipColumn: "xff" },
      '{"xff":"2002:0a00:0001::1, ::ffff:81.2.69.142","ip":"8.8.8.8"}\n',
      '{"xff":"2002:0a00:0001::1, ::ffff:81.2.69.142","ip":"8.8.8.8","country_iso_code":"GB","is_proxy":true}\n',
    ],
    ["IPv4 inside IPv6", FEW, "::ffff:81.2.69.142\n", "::ffff:81.2.69.142,GB,true\n"],
    ["tabs", FEW, "ip\tn\n81.2.69.142\t1\n", "ip\tn\tcountry_iso_code\tis_proxy\n81.2.69.142\t1\tGB\ttrue\n"],
    [
      "both columns",
      { add: [...FEW.add, "disposable"] },
      "mail,ip\na@disposable-1.com,81.2.69.142\nb@gmail.com,\n",
      "mail,ip,country_iso_code,is_proxy,disposable\na@disposable-1.com,81.2.69.142,GB,true,true\nb@gmail.com,,,,false\n",
    ],
    [
      "a column by number",
      { ...FEW, ipColumn: "2" },
      "8.8.8.8,81.2.69.142\n",
      "8.8.8.8,81.2.69.142,GB,true\n",
    ],
    [
      "ndjson",
      FEW,
      '{"ip":"81.2.69.142"}\n{"n":1,"ip":null}\n{}\n{"ip":"81.2.69.142" } \r\n',
      '{"ip":"81.2.69.142","country_iso_code":"GB","is_proxy":true}\n{"n":1,"ip":null}\n{}\n{"ip":"81.2.69.142" ,"country_iso_code":"GB","is_proxy":true} \r\n',
    ],
    [
      "ndjson with broken rows",
      FEW,
      '{"ip":"81.2.69.142"}\n{"ip":\n[1]\n"x"\n',
      '{"ip":"81.2.69.142","country_iso_code":"GB","is_proxy":true}\n{"ip":\n[1]\n"x"\n',
    ],
  ])("%s", (_, options, text, want) => expect(enriched(text, options)).toBe(want));

  test.each<[what: string, options: EnrichOptions, text: string, want: string]>([
    [
      "csv",
      FEW,
      "ip,is_proxy\n81.2.69.142,own\n",
      "ip,is_proxy,x_country_iso_code,x_is_proxy\n81.2.69.142,own,GB,true\n",
    ],
    [
      "ndjson",
      FEW,
      '{"ip":"81.2.69.142"}\n',
      '{"ip":"81.2.69.142","x_country_iso_code":"GB","x_is_proxy":true}\n',
    ],
    [
      "a log, with quotes where they are needed",
      { add: ["country_iso_code", "city_name"] },
      `81.2.69.142 ${ACCESS}\n`,
      `81.2.69.142 ${ACCESS} x_country_iso_code=GB x_city_name="City 1"\n`,
    ],
  ])("--prefix: %s", (_, options, text, want) =>
    expect(enriched(text, { ...options, prefix: "x_" })).toBe(want),
  );

  test.each([
    [["country_*", "disposable"], "country_iso_code,country_name,disposable"],
    [["*_code", "is_*y"], "continent_code,country_iso_code,registered_country_iso_code"],
    [["network_*"], NETWORK_NAMES],
    [["d*e"], "disposable"],
  ])("fields by pattern: %p", (add, want) => {
    const [header] = enriched("ip,mail\n81.2.69.142,a@disposable-1.com\n", { add }).split("\n");
    expect(header).toStartWith(`ip,mail,${want}`);
  });

  test("fields by pattern, of several columns: each has what is of its kind", () => {
    const [header] = enriched("a,b,mail\n81.2.69.142,81.2.69.1,a@disposable-1.com\n", {
      ipColumn: ["a", "b"],
      emailColumn: "mail",
      add: ["is_*y", "disp*", "country_name"],
    }).split("\n");
    expect(header).toBe("a,b,mail,a_country_name,a_is_proxy,b_country_name,b_is_proxy,disposable");
  });

  test("all fields", () => {
    const [header, row] = enriched("ip,mail\n81.2.69.142,a@disposable-1.com\n", { add: ["all"] })
      .trim()
      .split("\n");
    const named = Object.fromEntries(header!.split(",").map((name, i) => [name, row!.split(",")[i]]));
    expect(named).toMatchObject({
      continent_name: "Europe",
      city_name: "City 1",
      is_proxy: "true",
      providers: "disposable-1.com",
    });
  });
});

describe("networks", () => {
  const own = join(temp, "data-networks");
  smallRelease(own, 1, [], [], true);
  const named = openServable(own).name;
  const withNetworks = (head: string, options: EnrichOptions) => ({
    ...startFor(head, options, true),
    dataDir: own,
    release: named,
  });
  const added = (text: string, options: EnrichOptions) =>
    new TextDecoder().decode(
      makeEnricher(withNetworks(text, options)).block(encoder.encode(text), true).bytes,
    );

  test.each<[what: string, options: EnrichOptions, text: string, want: string]>([
    [
      "beside what is added by name",
      { network: true, add: ["is_proxy"] },
      "ip\n81.2.69.1\n81.2.70.200\n81.2.70.1\n81.2.71.1\n81.2.69.200\n2a02:8010::1\n10.0.0.1\n",
      `ip,is_proxy,${NETWORK_NAMES}
81.2.69.1,true,20712,"Andrews & Arnold, Ltd",unknown,false,,,81.2.69.0/25
81.2.70.200,false,4100000001,,unknown,true,relay,,81.2.70.128/25
81.2.70.1,false,4100000001,,unknown,false,,,81.2.70.0/25
81.2.71.1,false,,,unknown,false,,,81.2.71.0/24
81.2.69.200,true,,,unknown,false,,,81.2.69.128/25
2a02:8010::1,false,20712,Andrews & Arnold Ltd,unknown,false,,,2a02:8010::/32
10.0.0.1,,,,,,,,
`,
    ],
    [
      "only those that are named; equal facts, without the prefix",
      { add: ["network_asn", "network_services"] },
      "ip\tn\n81.2.69.1\t1\n81.2.69.127\t2\n81.2.70.200\t3\n",
      "ip\tn\tnetwork_asn\tnetwork_services\n81.2.69.1\t1\t20712\t\n81.2.69.127\t2\t20712\t\n81.2.70.200\t3\t4100000001\trelay\n",
    ],
    [
      "fields",
      { network: true, add: ["country_iso_code"], prefix: "x_" },
      '{"ip":"81.2.70.200"}\n{"ip":"10.0.0.1"}\n',
      '{"ip":"81.2.70.200","x_network_asn":4100000001,"x_network_kind":"unknown","x_network_shared":true,"x_network_services":"relay","x_network_prefix":"81.2.70.128/25"}\n{"ip":"10.0.0.1"}\n',
    ],
    [
      "a log, with an empty value",
      { add: ["network_organization", "network_services"] },
      `81.2.69.1 ${ACCESS}\n81.2.70.200 ${ACCESS}\n`,
      `81.2.69.1 ${ACCESS} network_organization="Andrews & Arnold, Ltd" network_services=""\n81.2.70.200 ${ACCESS} network_services=relay\n`,
    ],
  ])("%s", (_, options, text, want) => expect(added(text, options)).toBe(want));

  test("all is not all of them: they are asked for", () => {
    const [header] = added("ip\n81.2.69.1\n", { add: ["all"] }).split("\n");
    expect(header).not.toContain("network");
    expect(added("ip\n81.2.69.1\n", { add: ["all"], network: true })).toStartWith(
      `${header},${NETWORK_NAMES}\n`,
    );
  });

  test("the summary counts their kinds, where they are asked for", async () => {
    const from = file("kinds.csv", "ip\n81.2.69.1\n81.2.70.1\n::1\n");
    const run = (...args: string[]) => inkling("enrich", from, "--summary", ...args, "--data-dir", own);
    expect((await run("--network")).out).toMatch(/Networks\nunknown +2 +100\.0% +█+\n$/);
    expect((await run()).out).not.toContain("Networks");
    const counted = async (...args: string[]) =>
      JSON.parse((await run("--json", ...args)).out).ip.network_kinds;
    expect([await counted("--network"), await counted()]).toEqual([{ unknown: 2 }, undefined]);
  });

  test("threads count them together", async () => {
    const text = "81.2.69.1\n8.8.8.8\n".repeat(100_000);
    const pool = new Threads(2, withNetworks(text.slice(0, 100), { network: true }));
    const chunks = async function* () {
      yield encoder.encode(text);
    };
    const plan = planFor(text.slice(0, 100), "-", { network: true });
    const tally = await enrich(chunks(), plan, pool, new AbortController().signal, () => {});
    expect(tally.kinds).toEqual({ unknown: 200_000 });
  });

  test("a release without them, and a file without addresses", async () => {
    const from = file("none.csv", "ip\n81.2.69.1\n");
    const { out, err, code } = await inkling(
      "enrich",
      from,
      "--network",
      "--out",
      join(temp, "none-out.csv"),
    );
    expect([code, out]).toEqual([0, "1 row, 0 unparsable lines (0.0%), 0 without a public IP address\n"]);
    expect(err).toContain("network is unknown: no feed that provides it is loaded");
    expect(enriched("ip\n81.2.69.1\n", { network: true, add: ["is_proxy"] })).toBe(
      `ip,is_proxy,${NETWORK_NAMES}\n81.2.69.1,true,,,,,,,\n`,
    );
    const mail = await inkling("enrich", file("mail.csv", "mail\na@b.com\n"), "--network");
    expect([mail.code, mail.err]).toEqual([
      2,
      expect.stringContaining("--network: there is no column with IP addresses"),
    ]);
  });
});

describe("what a file is", () => {
  test.each<[what: string, head: string, name: string, want: object]>([
    [
      "one column of addresses",
      "81.2.69.142\n",
      "-",
      { format: "csv", ip: 0, email: undefined, hasHeader: false },
    ],
    ["one column of email addresses", "a@b.com\n", "-", { format: "csv", ip: undefined, email: 0 }],
    ["columns by their names", "x,client_ip,e-mail_addr\n1,,\n", "-", { ip: 1, email: 2, hasHeader: true }],
    [
      "the fuller one of two telling names",
      `client_ip,ip\n${"198.51.100.1,203.0.113.9\n".repeat(3)}${",203.0.113.9\n".repeat(7)}`,
      "-",
      { ip: 1 },
    ],
    [
      "a telling name in most rows before a fuller column",
      `gateway,ip\n198.51.100.1,\n${"198.51.100.1,203.0.113.9\n".repeat(9)}`,
      "-",
      { ip: 1 },
    ],
    ["columns by what is in them", "a,b\nx,81.2.69.142\n", "-", { ip: 1, hasHeader: true }],
    ["a name that misleads", "ip,real\n7,81.2.69.142\n", "-", { ip: 1 }],
    [
      "a column of CSV that is empty in all rows but one",
      `client_ip,ip,user_email,mail\n203.0.113.9,,a@b.com,\n${",203.0.113.9,,a@b.com\n".repeat(9)}`,
      "-",
      { ip: 1, email: 3 },
    ],
    [
      "a telling name that is empty in one row",
      `date,user_email,owner_email\n${"1,a@b.com,c@d.com\n".repeat(9)}1,,c@d.com\n`,
      "-",
      { email: 1 },
    ],
    [
      "telling names in half of the rows",
      `ip,machine,mail,owner\n${"203.0.113.9,10.0.0.1,a@b.com,c@d.com\n,10.0.0.1,,c@d.com\n".repeat(5)}`,
      "-",
      { ip: 0, email: 2 },
    ],
    [
      "telling names in a fifth of the rows",
      `ip,machine,mail,owner\n203.0.113.9,10.0.0.1,a@b.com,c@d.com\n${",10.0.0.1,,c@d.com\n".repeat(4)}`,
      "-",
      { ip: 0, email: 2 },
    ],
    [
      "telling names in less than a fifth of the rows",
      `ip,machine,mail,owner\n203.0.113.9,10.0.0.1,a@b.com,c@d.com\n${",10.0.0.1,,c@d.com\n".repeat(5)}`,
      "-",
      { ip: 1, email: 3 },
    ],
    ["JSON", '{"remote_addr":"::1"}\n', "-", { format: "ndjson", ip: "remote_addr" }],
    ["tabs", "ip\tn\n", "-", { format: "tsv", ip: 0 }],
  ])("%s", (_, head, name, want) => expect(planFor(head, name, {})).toMatchObject(want));

  test.each<[what: string, head: string, options: EnrichOptions, message: string]>([
    [
      "nothing to look up",
      "a,b\n1,2\n",
      {},
      "no column with IP addresses or email addresses was found (columns: a, b)",
    ],
    ["rows without a field", "{}\n", { format: "ndjson" }, "(no row has a field)"],
    ["a JSON array", '[{"ip":"8.8.8.8"}]\n', {}, "a JSON array is not supported"],
    ["a JSON array on lines", '[\n{"ip":"8.8.8.8"}\n]\n', {}, "a JSON array is not supported"],
    ["a column that is not there", "ip\n", { ipColumn: "addr" }, '--ip-column: there is no column "addr"'],
    [
      "one column twice",
      "src,ip\n8.8.8.8,1.1.1.1\n",
      { ipColumn: ["ip", "2"] },
      "--ip-column has one column twice: ip, ip",
    ],
    [
      "several columns where a name is there",
      "a,b,b_city_name\n8.8.8.8,1.1.1.1,x\n",
      { ipColumn: ["a", "b"] },
      "already has b_city_name",
    ],
    ["a number that is too large", "81.2.69.142\n", { ipColumn: "2" }, '--ip-column: there is no column "2"'],
    ["a field that is not there", "81.2.69.142\n", { add: ["mood"] }, "--add: there is no field mood"],
    [
      "a pattern that means nothing",
      "81.2.69.142\n",
      { add: ["netwrk_*"] },
      "--add: there is no field netwrk_*",
    ],
    [
      "a field of another column",
      "81.2.69.142\n",
      { add: ["disposable"] },
      "--add: there is no field disposable",
    ],
    ["a prefix with a comma", "ip\n8.8.8.8\n", { prefix: "a," }, "--prefix must be up to 40 letters"],
    [
      "its own csv",
      enriched("ip,n\n81.2.69.142,1\n", FEW),
      FEW,
      "standard input already has country_iso_code, is_proxy",
    ],
    [
      "its own csv, with the prefix",
      enriched("ip,n\n8.8.8.8,1\n", { ...FEW, prefix: "x_" }),
      { ...FEW, prefix: "x_" },
      "already has x_country_iso_code, x_is_proxy",
    ],
    [
      "its own ndjson",
      enriched('{"ip":null}\n{"ip":"81.2.69.142"}\n', FEW),
      FEW,
      "already has country_iso_code, is_proxy",
    ],
    ["its own log", enriched(`81.2.69.142 ${ACCESS}\n`, FEW), FEW, "already has country_iso_code, is_proxy"],
    ["a column of that name by chance", "ip,valid,mail\n8.8.8.8,yes,a@b.com\n", {}, "already has valid"],
  ])("%s: refused", (_, head, options, message) =>
    expect(() => planFor(head, "-", options)).toThrow(message),
  );

  test("names in a message are printable and short, and there are not too many of them", () => {
    const many = "c,".repeat(30);
    expect(() => planFor(`P\x15\x04\x1b[2J,${"x".repeat(99)},${many}\n1\n`, "-", { format: "csv" })).toThrow(
      `(columns: P\ufffd[2J, ${"x".repeat(60)}…, ${"c, ".repeat(18)}…)`,
    );
    expect(() => planFor('{"a\\nb":1}\n', "-", {})).toThrow("(columns: a\ufffdb)");
  });

  test("a mistyped field: the hint names the nearest", () => {
    const hint = expect.stringMatching(/^did you mean country_iso_code\? the fields are all, /);
    expect(() => planFor("81.2.69.142\n", "-", { add: ["contry_iso_code"] })).toThrow(
      expect.objectContaining({ hint }),
    );
  });

  test.each([
    ["in a user agent", `8.8.8.8 ${ACCESS.replace("Chrome/", "x is_proxy=true Chrome/")}`],
    [
      "at the end of one line of three",
      `8.8.8.8 ${ACCESS} is_proxy=true\n${`8.8.8.8 ${ACCESS}\n`.repeat(2)}`,
    ],
  ])("a name that a client has put there: %s: taken", (_, lines) => {
    expect(() => planFor(`${lines}\n`, "-", FEW)).not.toThrow();
  });
});

/** Runs a text through blocks, cut into chunks at these positions. */
async function streamed(
  text: string,
  cuts: readonly number[],
  threads = 0,
): Promise<{ text: string; tally: Tally }> {
  const bytes = encoder.encode(text);
  const start = startFor(text.slice(0, 2000), FEW, true);
  const out: Uint8Array[] = [];
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const tally = await enrich(
    (async function* () {
      for (let i = 1; i < at.length; i++) yield bytes.subarray(at[i - 1], at[i]);
    })(),
    start.plan,
    threads === 0 ? new OwnThread(start) : new Threads(threads, start),
    new AbortController().signal,
    (more) => void out.push(more),
  );
  return { text: Buffer.concat(out).toString(), tally };
}

describe("files that are not as they should be", () => {
  const OF = "id,ip,note,country_iso_code\n";
  test.each<[what: string, text: string, want: string, odd: Partial<Tally>]>([
    [
      "a quote that is never closed: each line is a row",
      'id,ip,note\n1,81.2.69.1,a\n2,81.2.69.2,"x\n3,81.2.69.3,b\n4,8.8.8.8,c\n',
      `${OF}1,81.2.69.1,a,GB\n2,81.2.69.2,"x,GB\n3,81.2.69.3,b,GB\n4,8.8.8.8,c,\n`,
      { rows: 4, openQuotes: 1, ragged: 0 },
    ],
    [
      "text after a closing quote: each line is a row, and no row has the address of another",
      'id,ip,note\n1,81.2.69.1,"open\n2,8.8.8.8,"x"\n3,81.2.69.3,ok\n4,"81.2.69.4"z,ok\n5,81.2.69.5,"a"b,"c" \r\n',
      `${OF}1,81.2.69.1,"open,GB\n2,8.8.8.8,"x",\n3,81.2.69.3,ok,GB\n4,"81.2.69.4"z,ok,\n5,81.2.69.5,"a"b,"c" ,GB\r\n`,
      { rows: 5, openQuotes: 3, ragged: 1 },
    ],
    [
      "such a quote in the header",
      'id,ip,"note\n1,81.2.69.1,"x"\n',
      'id,ip,"note,country_iso_code\n1,81.2.69.1,"x",GB\n',
      { rows: 1, openQuotes: 1, ragged: 0 },
    ],
    [
      "too few fields, and too many",
      "id,ip,note\n1,81.2.69.1\n2,81.2.69.2,x,y\n3,81.2.69.3,z\n",
      `${OF}1,81.2.69.1,,GB\n2,81.2.69.2,x,y,GB\n3,81.2.69.3,z,GB\n`,
      { rows: 3, openQuotes: 0, ragged: 2 },
    ],
    [
      "semicolons, as many spreadsheets write",
      'id;ip;note\n1;81.2.69.1;"a;b"\n2;8.8.8.8;c,d\n',
      'id;ip;note;country_iso_code\n1;81.2.69.1;"a;b";GB\n2;8.8.8.8;c,d;\n',
      { rows: 2, openQuotes: 0, ragged: 0 },
    ],
    [
      "tabs in a file that is called csv",
      "id\tip\n1\t81.2.69.1\n",
      "id\tip\tcountry_iso_code\n1\t81.2.69.1\tGB\n",
      { rows: 1, openQuotes: 0, ragged: 0 },
    ],
  ])("%s", (_, text, want, odd) => {
    const enricher = makeEnricher(startFor(text, { format: "csv", add: ["country_iso_code"] }));
    expect(new TextDecoder().decode(enricher.block(encoder.encode(text), true).bytes)).toBe(want);
    expect(enricher.tally()).toMatchObject(odd);
  });

  test("--strict refuses text after a closing quote; the first such line and the first ragged one are named", async () => {
    const input = file(
      "quotes.csv",
      'id,ip,n\n1,8.8.8.8\n"2\n",81.2.69.1,"open\n3,8.8.8.8,"x"\n4,8.8.8.8,x,y\n',
    );
    const args = ["enrich", input, "--add", "is_proxy"];
    const strict = await inkling(...args, "--out", join(temp, "quotes-out.csv"), "--strict");
    expect(strict.code).toBe(1);
    expect(strict.err).toContain("--strict: 1 unparsable line (25.0%, the first is line 3);");
    expect(strict.out).toEndWith(
      "2 with a different number of fields than the header (the first is line 2), 1 with an unclosed or misplaced quote, each read as one line\n",
    );
    const { out } = await inkling(...args, "--summary", "--json");
    expect(JSON.parse(out)).toMatchObject({
      rows: 4,
      broken: { rows: 0 },
      unparsable_lines: 1,
      unparsable_first_line: 3,
      unparsable_share: 0.25,
      ragged: 2,
      ragged_first_line: 2,
      open_quotes: 1,
    });
    const header = file("header-quote.csv", 'ip,"n\n');
    const { err } = await inkling("enrich", header, "--strict");
    expect(err).toContain("--strict: 1 unparsable line (100.0%, the first is line 1)");
  });

  test("one such quote in the middle of a large file costs nothing but itself", async () => {
    const rows = (last: string) =>
      Array.from({ length: 200_000 }, (_, i) => {
        const note = i === 90_000 ? '"x' : i === 190_000 ? last : "a";
        return `${i},81.2.69.${i % 256},${note}`;
      });
    for (const last of ["a", '"b"'])
      for (const cuts of [[], [1_000_000, 1_500_000, 2_200_000]]) {
        const { text: got, tally } = await streamed(`id,ip,note\n${rows(last).join("\n")}\n`, cuts);
        const firstUnparsable = 90_002; // the header is line 1
        expect(tally).toMatchObject({
          rows: 200_000,
          openQuotes: 1,
          firstUnparsable,
          withoutIp: 0,
          ragged: 0,
        });
        expect(got.match(/,GB/g)!.length).toBe(200_000);
      }
  });

  test("a flag without data is empty, not false", async () => {
    const start = {
      ...startFor("81.2.69.1\n", { add: ["is_abuser", "is_proxy"] }, true),
      unknown: ["is_abuser"],
    };
    const enricher = makeEnricher(start);
    expect(new TextDecoder().decode(enricher.block(encoder.encode("81.2.69.1\n"), true).bytes)).toBe(
      "81.2.69.1,,true\n",
    );
    expect(enricher.tally().flags).toMatchObject({ is_proxy: 1, is_tor_exit: 0 });
  });
});

describe("streams", () => {
  test("threads give the same rows in the same order, and the same counts", async () => {
    let text = "n,ip\n";
    for (let i = 0; text.length < 3 * BLOCK_BYTES; i++) text += `"${i}\n",81.2.${i % 256}.${(i * 7) % 256}\n`;
    const one = await streamed(text, [12_345]);
    const two = await streamed(text, [999, 2_000_001], 2);
    expect(two.text === one.text).toBe(true);
    expect(two.tally).toEqual(one.tally);
    expect(one.text.split("\n")[2]).toBe('",81.2.0.0,,false');
    expect(one.tally.flags.is_proxy).toBeGreaterThan(100);
    expect(one.tally.countries).toEqual({ GB: one.tally.flags.is_proxy! });
  });

  describe("a thread that dies before its first block: a release that is gone", () => {
    const threads = () =>
      new Threads(1, { ...startFor("81.2.69.1\n", FEW), release: "20260101T000000000Z-000000000000" });
    const reason = "release 20260101T000000000Z-000000000000";

    test("every later task is rejected with its reason", async () => {
      const pool = threads();
      await expect(pool.finish()).rejects.toThrow(reason);
      await expect(pool.block(encoder.encode("81.2.69.1\n"), true)).rejects.toThrow(reason);
      pool.stop();
    });

    test("the file ends with it, also where it dies while input is awaited", async () => {
      const pool = threads();
      const text = "81.2.69.1\n".repeat(BLOCK_BYTES / 8);
      const chunks = async function* () {
        yield encoder.encode(text);
        await pool.finish().catch(() => {});
        await Bun.sleep(0); // by now, an unhandled rejection would be reported
        yield encoder.encode(text);
      };
      const enriching = enrich(
        chunks(),
        planFor(text.slice(0, 100), "-", FEW),
        pool,
        new AbortController().signal,
        () => {},
      );
      await expect(enriching).rejects.toThrow(reason);
    });
  });

  test("a quote that never closes does not hold the file up", async () => {
    const text = `n,ip\n${`5" pipe,81.2.69.142\n`.repeat(120_001)}`;
    const { text: got, tally } = await streamed(text, []);
    expect(tally).toMatchObject({ rows: 120_001, withoutIp: 0 });
    expect(got).toEndWith('5" pipe,81.2.69.142,GB,true\n');
  });

  test("blocks are whole rows, whatever the chunks", async () => {
    let count = 0;
    const long = `${"long,".repeat(50_000)}\n`;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a,b\n", '"x\ny",2\n', '"q""",\n', long, long), {
          minLength: 20,
          maxLength: 30,
        }),
        fc.array(fc.nat(1 << 21), { maxLength: 5 }),
        async (rows, cuts) => {
          const bytes = encoder.encode(rows.join(""));
          const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
          const got: Uint8Array[] = [];
          const chunks = (async function* () {
            for (let i = 1; i < at.length; i++) yield bytes.subarray(at[i - 1], at[i]);
          })();
          for await (const { bytes: block, line } of blocks(chunks, ",")) {
            expect(line).toBe(1 + Buffer.concat(got).toString().split("\n").length - 1);
            got.push(block);
          }
          expect(Buffer.concat(got).equals(bytes)).toBe(true);
          for (const block of got.slice(0, -1)) expect(lastRowEnd(block, ",")).toBe(block.length);
          count += got.length;
        },
      ),
      { numRuns: 40 },
    );
    expect(count).toBeGreaterThan(42);
  });
});

describe("the command", () => {
  test.each<[args: string[], warning: string]>([
    [
      ["--ip-column", "client_ip"],
      "the email addresses in mail are not looked up: add them with --email-column",
    ],
    [["--email-column", "2"], "the IP addresses in client_ip are not looked up: add them with --ip-column"],
    [["--ip-column", "1", "--ip-column", "other"], "the email addresses in mail are not looked up"],
    [["--ip-column", "1", "--email-column", "mail"], ""],
    [["--ip-column", "1", "--ip-column", "other", "--email-column", "mail"], ""],
    [["--ip-column", "client_ip", "--add", "country_iso_code"], ""],
    [[], ""],
  ])("says which column it leaves out: %j", async (args, warning) => {
    const from = file("both.csv", "client_ip,mail,other\n81.2.69.142,a@b.com,8.8.8.8\n");
    const { err, code } = await inkling("enrich", from, "--out", join(temp, "out.csv"), ...args);
    expect(code).toBe(0);
    expect(/^warning: (the .*)$/m.exec(err)?.[1] ?? "").toStartWith(warning);
    expect(err.includes("not looked up")).toBe(warning !== "");
  });

  test("warns if no row has an address, and fails with --strict", async () => {
    const from = file("numbers.csv", "ip\n134744072\nabc\n");
    const to = join(temp, "numbers-out.csv");
    const found = await inkling("enrich", from, "--ip-column", "ip", "--out", to);
    expect(found).toMatchObject({
      code: 0,
      err: expect.stringContaining("warning: no row has an address that can be looked up: check the column"),
    });
    rmSync(to);
    const strict = await inkling("enrich", from, "--ip-column", "ip", "--out", to, "--strict");
    expect(strict).toMatchObject({
      code: 1,
      err: expect.stringContaining("--strict: no row has an address that can be looked up"),
    });
    expect(existsSync(to)).toBe(false);
  });

  test("names other columns that have addresses in most rows", async () => {
    const from = file("others.csv", "client_ip,peer_ip\n81.2.69.142,8.8.8.8\n");
    expect((await inkling("enrich", from, "--out", join(temp, "out.csv"))).err).toStartWith(
      "read as csv, IP addresses in client_ip\nmost rows also have IP addresses in peer_ip: to look up another column, set it with --ip-column\n",
    );
  });

  test("writes a file, and prints counts of its rows", async () => {
    const from = file("visits.csv", "ip\n81.2.69.142\n10.0.0.1\n");
    const target = join(temp, "out.csv");
    const { out, err, code } = await inkling("enrich", from, "--out", target, "--add", "country_iso_code");
    expect([out, err, code]).toEqual([
      "2 rows, 0 unparsable lines (0.0%), 1 without a public IP address\n",
      `read as csv, IP addresses in ip\nrelease ${release}\n`,
      0,
    ]);
    expect(readFileSync(target, "utf8")).toBe("ip,country_iso_code\n81.2.69.142,GB\n10.0.0.1,\n");
  });

  test("overrides count", async () => {
    const own = join(temp, "data-own");
    smallRelease(own, 1);
    await inkling(
      "overrides",
      "add",
      "81.2.69.142",
      "--flag",
      "is_proxy=false",
      "--note",
      "us",
      "--data-dir",
      own,
    );
    const from = file("overridden.csv", "81.2.69.142\n81.2.69.143\n");
    const target = join(temp, "overridden-out.csv");
    await inkling("enrich", from, "--out", target, "--add", "is_proxy", "--data-dir", own);
    expect(readFileSync(target, "utf8")).toBe("81.2.69.142,false\n81.2.69.143,true\n");
  });

  test("--release looks rows up in a stored release, which is named", async () => {
    const own = join(temp, "data-kept");
    const ids = [1, 2].map((n) => smallRelease(own, n).id);
    const from = file("kept.csv", "ip\n81.2.69.142\n");
    const cities = async (...args: string[]) => {
      const { out, err } = await inkling("enrich", from, "--summary", "--json", "--data-dir", own, ...args);
      const target = join(temp, "kept-out.csv");
      await inkling("enrich", from, "--add", "city_name", "--out", target, "--data-dir", own, ...args);
      return [
        JSON.parse(out).data_version,
        /^release \S+-(\w+)$/m.exec(err)?.[1],
        readFileSync(target, "utf8").split("\n")[1],
      ];
    };
    expect(await cities()).toEqual([ids[1], ids[1], "81.2.69.142,City 2"]);
    expect(await cities("--release", ids[0]!)).toEqual([ids[0], ids[0], "81.2.69.142,City 1"]);
    const { err, code } = await inkling("enrich", from, "--release", "0123456789ab", "--data-dir", own);
    expect([code, err]).toEqual([1, expect.stringContaining("there is no release 0123456789ab in")]);
  });

  test.each<[args: string[], attributed: string]>([
    [[], "places flags mail"],
    [["--ip-column", "ip"], "places flags"],
    [["--ip-column", "ip", "--add", "country_iso_code"], "places"],
    [["--ip-column", "ip", "--add", "is_proxy"], "flags"],
    [["--ip-column", "ip", "--add", "is_proxy", "--summary"], "places flags"],
    [["--email-column", "mail"], "mail"],
    [
      ["--email-column", "mail", "--ip-column", "ip", "--ip-column", "b", "--add", "is_proxy,disposable"],
      "flags mail",
    ],
  ])("attributes the feeds of the lookups that it uses: %j", async (args, attributed) => {
    const own = join(temp, `data-of ${args}`);
    const about = { source: "seed", state: "loaded", entries: 1, licence: "x" } as const;
    smallRelease(
      own,
      1,
      [],
      [
        { ...about, id: "a", sets: "geolocation", attribution: "from places" },
        { ...about, id: "b", sets: "is_proxy", attribution: "from flags" },
        { ...about, id: "c", sets: "disposable", attribution: "from mail" },
      ],
    );
    const from = file("attributed.csv", "ip,b,mail\n81.2.69.142,8.8.8.8,a@b.com\n");
    const target = join(temp, "attributed-out.csv");
    const { err } = await inkling("enrich", from, "--out", target, "--data-dir", own, ...args);
    expect([...err.matchAll(/^from (\w+)$/gm)].map(([, name]) => name).join(" ")).toBe(attributed);
  });

  test("a summary", async () => {
    const from = file(
      "sum.csv",
      "ip,email\n81.2.69.142,a@disposable-1.com\n81.2.69.1,b@x.com\n8.8.8.8,\n::1,x\n",
    );
    const { out } = await inkling("enrich", from, "--summary");
    expect(out).toContain(
      `4 rows\n0 unparsable lines (0.0%)\nrelease ${release}\n3 with a public IP address, 1 without\n`,
    );
    expect(out).toMatch(/Countries\nGB +2 +66\.7% +█+\nunknown +1 +33\.3% +█+\n/);
    expect(out).toMatch(/is_proxy +2 +66\.7%/);
    expect(out).toMatch(/disposable +1 +33\.3%/);
  });

  test("a log: lines without the named field are counted, with the number of the first", async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `81.2.${i % 256}.9 ${ACCESS}`);
    lines[20_000] = "x";
    lines[20_002] = "";
    lines[25_000] = "81.2.69.1";
    const from = file("access.log", `${lines.join("\n")}\n`);
    const target = join(temp, "access-out.log");
    const { out, err } = await inkling("enrich", from, "--out", target);
    expect(err).toContain(
      "read as lines, the first public address of each line\nmost lines have more than one",
    );
    expect(out).toBe("29,999 rows, 0 unparsable lines (0.0%), 1 without a public IP address\n");
    const got = readFileSync(target, "utf8").split("\n");
    expect([got[20_000], got[20_002]]).toEqual(["x", ""]);
    const byField = await inkling("enrich", from, "--field", "2", "--out", target);
    expect(byField.err).toStartWith("read as lines, the first public address in field 2\n");
    expect(byField.out).toContain("2 unparsable lines (<0.1%, the first is line 20,001)");
    const packed = join(temp, "packed.log.zst");
    writeFileSync(packed, zstdCompressSync(readFileSync(from)));
    const summary = await inkling("enrich", packed, "--summary", "--json");
    expect(summary.err).toStartWith("read as zstd, lines");
    expect(JSON.parse(summary.out)).toMatchObject({ format: "lines", rows: 29_999, broken: { rows: 0 } });
  });

  test("a client with a private address: --field 1 does not look up what the request says", async () => {
    const log = file("private.log", `10.0.0.1 ${ACCESS}\n`);
    const found = async (...args: string[]) =>
      JSON.parse((await inkling("enrich", log, ...args, "--summary", "--json")).out).ip;
    expect(await found()).toMatchObject({ found: 1 });
    expect(await found("--field", "1")).toMatchObject({ found: 0, missing: 1 });
  });

  test("--add may be repeated", async () => {
    const from = file("repeated.csv", "ip\n81.2.69.142\n");
    const add = ["--add", "country_iso_code", "--add", "is_proxy,is_abuser", "--add", "city_*"];
    const target = join(temp, "repeated-out.csv");
    await inkling("enrich", from, ...add, "--out", target);
    expect(readFileSync(target, "utf8")).toStartWith("ip,country_iso_code,city_name,is_abuser,is_proxy\n");
  });

  test.each<[what: string, args: string[], message: string]>([
    [
      "a field that is no number",
      ["FILE", "--field", "client"],
      "--field must be a whole number from 1 to 9999",
    ],
    ["field 0", ["FILE", "--field", "0"], '--field must be a whole number from 1 to 9999: it is "0"'],
    ["JSON without a summary", ["FILE", "--json"], "--json needs --summary"],
    ["no such file", ["nowhere.csv"], "nowhere.csv does not exist\nhint: check the path"],
    ["a folder", ["."], "is a folder"],
    ["a target in no folder", ["FILE", "--out", "no/where.csv"], "does not exist"],
    ["a format that is none", ["FILE", "--format", "xls"], "is invalid"],
    ["no release", ["FILE", "--data-dir", "none"], "none does not exist"],
  ])("%s: refused", async (_, args, message) => {
    const from = file("in.csv", "81.2.69.142\n");
    const { err, code } = await inkling("enrich", ...args.map((arg) => (arg === "FILE" ? from : arg)));
    expect(err).toContain(message);
    expect(err).toContain("hint: ");
    expect(code).not.toBe(0);
  });

  test("a target that cannot be finished leaves what was there", async () => {
    const folder = temporaryFolder();
    const target = join(folder, "out.csv");
    writeFileSync(target, "before");
    const from = file("stop.csv", "81.2.69.142\n");
    const { err, code } = await runHere(["enrich", from, "--out", target], {
      env: { INKLING_DATA_DIR: dataDir },
      cwd: temp,
      signal: AbortSignal.abort(),
    });
    expect([err, code]).toEqual([
      `inkling: stopped: ${target} was not written; the existing file is unchanged\n`,
      130,
    ]);
    expect(readdirSync(folder)).toEqual(["out.csv"]);
    expect(readFileSync(target, "utf8")).toBe("before");
  });
});

describe("Ctrl-C", () => {
  const BIN = join(import.meta.dir, "../../../cli/bin/inkling.mjs");
  const stopped = (...args: string[]) =>
    runHere(["enrich", ...args], {
      env: { INKLING_DATA_DIR: dataDir },
      cwd: temp,
      signal: AbortSignal.abort(),
    });
  test.each([
    ["to standard output", [], "rows are missing at the end of standard output"],
    ["a summary", ["--summary"], "the summary was not written"],
  ])("%s: one line says what remains", async (_, args, remains) => {
    const from = join(temp, "stopped.csv");
    writeFileSync(from, "81.2.69.142\n");
    expect(await stopped(from, ...args)).toEqual({
      out: "",
      err: `inkling: stopped: ${remains}\n`,
      code: 130,
    });
  });
  test("as a process that reads a pipe which stays open: no file, and nothing beside it", async () => {
    const folder = temporaryFolder();
    const target = join(folder, "out.log");
    const child = Bun.spawn(["node", BIN, "enrich", "-", "--format", "csv", "--out", target], {
      cwd: temp,
      env: { ...process.env, INKLING_DATA_DIR: dataDir },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    child.stdin.write("ip\n81.2.69.142\n");
    await child.stdin.flush();
    while (readdirSync(folder).length === 0) await Bun.sleep(5);
    child.kill("SIGINT");
    const [err, code] = [await child.stderr.text(), await child.exited];
    expect([err.split("\n").slice(2).join("\n"), code]).toEqual([
      `inkling: stopped: ${target} was not written\n`,
      130,
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });
  test("while nothing comes in at all", async () => {
    const controller = new AbortController();
    const silent = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<Uint8Array>>(() => {}) }),
    };
    const first = untilStopped(silent, controller.signal).next();
    controller.abort();
    await expect(first).rejects.toThrow("not all rows were read");
  });
});
