import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MX_OUTCOMES } from "@inkling/contract";
import { publicSuffix, toAsciiDomain } from "@inkling/engine";
import { BUDGET_MS, CACHE_SECONDS, LOOKUP_MS, MAX_CACHED, MAX_UNDER_WAY, MAX_WAITING } from "./check.ts";
import { disposableHost, findMxHost, knownHosts, MX_HOSTS } from "./hosts.ts";

describe("the table of mail hosts", () => {
  test("each suffix is a host, at or below a domain that somebody owns, and stands once", () => {
    for (const { suffix } of MX_HOSTS) {
      expect(toAsciiDomain(suffix)).toBe(suffix);
      expect(`${suffix}: ${publicSuffix(suffix) !== suffix}`).toBe(`${suffix}: true`);
    }
    expect(new Set(MX_HOSTS.map(({ suffix }) => suffix)).size).toBe(MX_HOSTS.length);
  });

  test("the service of a dedicated host is a domain: it goes out as provider", () => {
    const dedicated = MX_HOSTS.filter(({ kind }) => kind === "dedicated");
    expect(dedicated.length).toBeGreaterThan(30);
    for (const { service } of dedicated) expect(toAsciiDomain(service)).toBe(service);
  });

  test("each row has a source", () => {
    for (const { source } of MX_HOSTS) expect(source).toMatch(/^https:\/\/\S+$|^public blocklists/);
  });
});

describe("docs/email.md and docs/mail-hosts.md", () => {
  const read = (page: string) => readFileSync(join(import.meta.dir, "../../../../docs", page), "utf8");
  const docs = read("email.md");

  test("have the table of mail hosts", () => {
    const rows = MX_HOSTS.map(
      (row) => `| \`${row.suffix}\` | ${row.kind} | ${row.service} | ${row.source} |`,
    );
    expect(read("mail-hosts.md")).toContain(`|---|---|---|---|\n${rows.join("\n")}\n\n`);
  });

  test("show what each outcome does", () => {
    const rows = [...docs.matchAll(/^\| `([a-z]+)` \| .* \| (unchanged|becomes `false`) \|$/gm)];
    expect(rows.map(([, outcome]) => outcome!)).toEqual([...MX_OUTCOMES]);
    const refuted = rows.filter(([, , effect]) => effect !== "unchanged").map(([, outcome]) => outcome);
    expect(refuted).toEqual(["null", "nxdomain"]);
  });

  test("have the numbers of the code", () => {
    const number = (value: number) => value.toLocaleString("en");
    for (const text of [
      `within ${BUDGET_MS} ms`,
      `${MAX_UNDER_WAY} domains`,
      `${number(MAX_WAITING)} more`,
      `${number(MAX_CACHED)} domains`,
    ]) {
      expect(docs).toContain(text);
    }
    expect(CACHE_SECONDS).toMatchObject({ found: [60, 3600], nxdomain: [30, 300], failed: [5, 5] });
    expect(LOOKUP_MS).toBe(3000);
  });
});

describe("disposableHost", () => {
  test.each([
    ["the host itself", ["in.mail.tm"], "mail.tm"],
    ["below it", ["mx3.in.mail.tm"], "mail.tm"],
    ["its parent", ["mail.tm"], undefined],
    ["a name that ends alike", ["notmailinator.com"], undefined],
    ["a name that begins alike", ["mailinator.com.example.net"], undefined],
    ["several of one service", ["mail.mailinator.com", "mail2.mailinator.com"], "mailinator.com"],
    ["beside a host that nobody knows", ["mx.example.net", "smtp.yopmail.com"], "yopmail.com"],
    ["beside a shared host", ["smtp.yopmail.com", "aspmx.l.google.com"], undefined],
    ["beside a relay", ["mx1.simplelogin.co", "smtp.yopmail.com"], undefined],
    ["a relay", ["mx1.simplelogin.co"], undefined],
    ["a shared host", ["route1.mx.cloudflare.net"], undefined],
    ["the root", [""], undefined],
    ["none", [], undefined],
  ])("%s", (_, hosts, service) => expect(disposableHost(knownHosts(hosts))?.service).toBe(service!));
});

test("many hosts of one row are known as one", () => {
  const hosts = Array.from({ length: 200 }, (_, i) => `mx${i}.yopmail.com`);
  expect(knownHosts([...hosts, "mx.example.net"])).toEqual([findMxHost("yopmail.com")!]);
});
