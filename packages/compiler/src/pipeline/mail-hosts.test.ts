// Tests the lookups of a build with DNS servers that answer well and badly, and builds with and without DNS.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeResolver, type Resolver } from "@inkling/data/dns";
import { a, type DnsScript, knowing, mx, startDnsServer } from "../../../../test/harness/dns-server.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { DomainClaims, DomainSubject } from "../catalog/claims.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { parseDomains } from "../parse/index.ts";
import { build } from "./build.ts";
import { domainsToLookUp, LIMITS, lookUpMailHosts } from "./mail-hosts.ts";

const NOW = new Date("2026-11-29T12:00:00Z");
const MX = 15;

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

async function dnsServer(script: DnsScript) {
  const server = await startDnsServer(script);
  stops.push(() => server.stop());
  return server;
}

const nxdomain = () => ({ rcode: 3 });
/** What the server does, by the first label of a domain. */
const good = knowing(["com", "invalid"], ({ name, type, overTcp }) => {
  const [label] = name.split(".");
  if (label === "gone" || label === "inkling-control") return nxdomain();
  if (type !== MX) return label === "address" ? { answers: [a(name)] } : {};
  if (label === "silent") return "silent";
  if (label === "failing") return { rcode: 2 };
  if (label === "long" && !overTcp) return { truncated: true };
  if (label === "wrong-id") return { answers: [mx(name, 10, "mx.google.com")], idShift: 1 };
  if (label === "other")
    return { answers: [mx(name, 10, "mx.google.com")], question: { name: "x.com", type } };
  if (label === "odd") return { answers: [mx(name, 10, "a b.com"), mx(name, 10, "in.mail.tm")] };
  if (label === "address") return {};
  return { answers: [mx(name, 20, "backup.example.com"), mx(name, 10, "SMTP.yopmail.com")] };
});

const lookUp = async (
  domains: readonly string[],
  known: Record<string, string>,
  port: number,
  more: Partial<Parameters<typeof lookUpMailHosts>[2]> = {},
) =>
  parseDomains(
    "mail-hosts",
    await lookUpMailHosts(domains, new Map(Object.entries(known)), {
      dns: makeResolver([{ address: "127.0.0.1", port }]),
      now: NOW,
      excluded: [],
      ...more,
    }),
  ).domains;

describe("lookUpMailHosts", () => {
  test("stores what DNS answers; a lookup that fails keeps the hosts of the one before", async () => {
    const { port } = await dnsServer(good);
    const failing = ["silent", "failing", "wrong-id", "other"].map((label) => `${label}.com`);
    const found = await lookUp(
      ["found.com", "long.com", "odd.com", "gone.com", "address.com", ...failing, "new.failing.com"],
      Object.fromEntries(
        [...failing, "gone.com", "dropped.com"].map((name) => [name, "2026-01-01 in.mail.tm"]),
      ),
      port,
      { limits: { lookupMs: 400 } },
    );
    expect(Object.fromEntries(found)).toEqual({
      "found.com": "2026-11-29 smtp.yopmail.com",
      "long.com": "2026-11-29 smtp.yopmail.com",
      "odd.com": "2026-11-29 in.mail.tm",
      "gone.com": "2026-11-29",
      "address.com": "2026-11-29",
      "new.failing.com": "2026-11-29 smtp.yopmail.com",
      ...Object.fromEntries(failing.map((name) => [name, "2026-11-29 in.mail.tm"])),
    });
  });

  test("asks for new domains first, then for the oldest; not for recent or excluded ones", async () => {
    const server = await dnsServer(good);
    const known = {
      "old.com": "2026-09-01",
      "older.com": "2026-08-01",
      "recent.com": "2026-11-20 in.mail.tm",
    };
    const domains = ["recent.com", "old.com", "older.com", "new.com", "x.internal.com"];
    const found = await lookUp(domains, known, server.port, {
      excluded: ["internal.com"],
      limits: { lookups: 2, concurrent: 1 },
    });
    const asked = server.questions.filter(({ type }) => type === MX).map(({ name }) => name);
    expect(asked).toEqual(["inkling-control.invalid", "new.com", "older.com"]);
    expect([...found.keys()].sort()).toEqual(["new.com", "old.com", "older.com", "recent.com"]);
    expect(found.get("recent.com")).toBe("2026-11-20 in.mail.tm");
  });

  const refusing: [what: string, script: DnsScript, error: string][] = [
    ["denies all names", nxdomain, "DNS answered no lookup"],
    ["is silent", () => "silent", "DNS answered no lookup"],
    ["fails", () => ({ rcode: 2 }), "DNS answered no lookup"],
    ["sends garbage", () => ({ raw: Uint8Array.of(1, 2, 3) }), "DNS answered no lookup"],
    ["invents hosts", ({ name }) => ({ answers: [mx(name, 1, "mx.google.com")] }), "invents mail hosts"],
  ];
  test.each(refusing)("a server that %s: there is no new copy", async (_, script, error) => {
    const { port } = await dnsServer(script);
    const limits = { lookupMs: 300 };
    await expect(
      lookUp(["a.com", "b.com"], { "a.com": "2026-01-01 in.mail.tm" }, port, { limits }),
    ).rejects.toThrow(error);
  });

  test("10,000 of 12,000 domains, at most 32 at once; slow servers cost no more than the total time", async () => {
    let [underWay, most, questions] = [0, 0, 0];
    const dns: Resolver = {
      resolve: async (host) => {
        questions++;
        most = Math.max(most, ++underWay);
        await Bun.sleep(0);
        underWay--;
        if (host.endsWith(".invalid")) return { kind: "nxdomain", ttlSeconds: 1 };
        return { kind: "records", ttlSeconds: 1, mx: [{ preference: 1, host: "in.mail.tm" }] };
      },
    };
    const domains = Array.from({ length: 12_000 }, (_, i) => `d${i}.com`);
    const found = await lookUp(domains, {}, 0, { dns, limits: { perSecond: 100_000 } });
    expect(found.size).toBe(LIMITS.lookups);
    expect(questions).toBe(LIMITS.lookups + 1); // the control
    expect(most).toBeLessThanOrEqual(LIMITS.concurrent);

    const cut = await lookUp(domains, {}, 0, { dns, limits: { perSecond: 20, totalMs: 400 } });
    expect(cut.size).toBeGreaterThan(0);
    expect(cut.size).toBeLessThan(100);
  });
});

test("domainsToLookUp: what rests on one origin, unless a service's own page shows it", () => {
  const claim = (feed: string, subject: DomainSubject, ...domains: string[]): DomainClaims => ({
    feed,
    subject,
    domains: new Map(domains.map((domain) => [domain, ""])),
    lineage: FEEDS.find(({ id }) => id === feed)?.lineage ?? [],
  });
  const lists = [
    claim("tompec-domains", "disposable", "copy.com", "both.com"),
    claim("disposable-domains", "disposable", "page.com", "both.com"),
    claim("fakefilter", "disposable", "seen.com"),
    claim("ivolo-domains", "copied", "copy.com"),
    claim("mail-hosts", "mail_host", "copy.com"),
  ];
  expect(domainsToLookUp(lists).sort()).toEqual(["copy.com", "page.com"]);
});

test("a build without DNS gives the answers of the build that asked, from the kept copy", async () => {
  const server = await dnsServer(good);
  const dataDir = temporaryFolder();
  const mirror = join(dataDir, "lists");
  mkdirSync(mirror);
  const ids = ["disposable-domains", "tompec-domains", "ivolo-domains"];
  const names = Array.from({ length: 60 }, (_, i) => `d${i}.com`);
  writeFileSync(join(mirror, "disposable-domains.txt"), names.join("\n"));
  writeFileSync(join(mirror, "ivolo-domains.json"), JSON.stringify(names));
  writeFileSync(join(mirror, "tompec-domains.json"), JSON.stringify([...names, "gone.com"]));
  const feeds = FEEDS.filter(({ id }) => [...ids, "mail-hosts"].includes(id)).map(
    ({ seed, optIn, ...feed }) => ({
      ...feed,
      entries: { least: 1, most: 100 },
      ...(feed.asksDns
        ? {}
        : { file: join(mirror, `${feed.id}.${feed.id === "disposable-domains" ? "txt" : "json"}`) }),
    }),
  );
  const run = (fetch: boolean) =>
    build(
      {
        dataDir,
        fetch,
        onlyDue: false,
        accept: [],
        credentials: {},
        dnsServers: [`127.0.0.1:${server.port}`],
      },
      { now: () => NOW, emit: () => {}, chance: () => 0.5, feeds },
    );
  const asked = await run(true);
  const questions = server.questions.length;
  expect(questions).toBeGreaterThan(60);
  expect(asked.release.feeds.find(({ id }) => id === "mail-hosts")).toMatchObject({
    source: "fetched",
    entries: 61,
  });
  const offline = await run(false);
  expect(server.questions.length).toBe(questions);
  expect(offline.release.segments.email?.sha256).toBe(asked.release.segments.email!.sha256);
  server.stop();
  const failed = await run(true);
  expect(failed.release.segments.email?.sha256).toBe(asked.release.segments.email!.sha256);
});
