import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { publicSuffix, toAsciiDomain } from "./domain.ts";
import { disposableHost, findMxHost, knownHosts, MX_HOSTS } from "./mail-hosts.ts";

describe("the table of mail hosts", () => {
  test("each suffix is a host, at or below a domain that somebody owns, and stands once", () => {
    for (const { suffix } of MX_HOSTS) {
      assert.equal(toAsciiDomain(suffix), suffix);
      assert.notEqual(publicSuffix(suffix), suffix);
    }
    assert.equal(new Set(MX_HOSTS.map(({ suffix }) => suffix)).size, MX_HOSTS.length);
  });

  test("the service of a dedicated host is a domain: it goes out as provider", () => {
    const dedicated = MX_HOSTS.filter(({ kind }) => kind === "dedicated");
    assert(dedicated.length > 30);
    for (const { service } of dedicated) assert.equal(toAsciiDomain(service), service);
  });

  test("each row has a source", () => {
    for (const { source } of MX_HOSTS) assert.match(source, /^https:\/\/\S+$|^public blocklists/);
  });

  test("mail-hosts.md has the table", () => {
    const docs = readFileSync(new URL("../../mail-hosts.md", import.meta.url), "utf8");
    const rows = MX_HOSTS.map(
      (row) => `| \`${row.suffix}\` | ${row.kind} | ${row.service} | ${row.source} |`,
    );
    assert(docs.includes(`|---|---|---|---|\n${rows.join("\n")}\n\n`));
  });
});

describe("disposableHost", () => {
  const cases: [what: string, hosts: string[], service: string | undefined][] = [
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
  ];
  for (const [what, hosts, service] of cases)
    test(what, () => assert.equal(disposableHost(knownHosts(hosts))?.service, service));
});

test("many hosts of one row are known as one", () => {
  const hosts = Array.from({ length: 200 }, (_, i) => `mx${i}.yopmail.com`);
  assert.deepEqual(knownHosts([...hosts, "mx.example.net"]), [findMxHost("yopmail.com")!]);
});
