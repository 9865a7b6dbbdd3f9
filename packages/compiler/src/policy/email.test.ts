// Tests the email policy on small claims and on random claims. email.data.test.ts tests the real lists.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { walkUp } from "@inkling/engine";
import fc from "fast-check";
import type { DomainClaims, DomainSubject } from "../catalog/claims.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { isDomainFormat, parseDomains } from "../parse/index.ts";
import { DISPOSABLE_WORDS, hasDisposableName, WEIGHTS } from "./domain-weights.ts";
import { judgeDomains } from "./email.ts";

function claim(
  feed: string,
  subject: DomainSubject,
  domains: readonly string[] | Record<string, string>,
): DomainClaims {
  const entries = Array.isArray(domains)
    ? domains.map((domain) => [domain, ""] as const)
    : Object.entries(domains);
  const lineage = FEEDS.find(({ id }) => id === feed)?.lineage ?? [];
  return { feed, subject, domains: new Map(entries), lineage };
}
const listed = (feed: string, ...domains: string[]) => claim(feed, "disposable", domains);
const freeMail = (...domains: string[]) => claim("free-mail", "free", domains);
const relay = (...domains: string[]) => claim("relay-domains", "relay", domains);
const popular = (...domains: string[]) => claim("cloudflare-top-100k", "popular", domains);
const shared = (...domains: string[]) => claim("shared-domains", "shared", domains);
const copied = (...domains: string[]) => claim("ivolo-domains", "copied", domains);
const hosts = (domains: Record<string, string>) => claim("mail-hosts", "mail_host", domains);
const COPIED = "tompec-domains";
const REVIEWED = "disposable-email-domains";

describe("judgeDomains", () => {
  const rows: { name: string; claims: DomainClaims[]; expected: Record<string, readonly string[]> }[] = [
    { name: "no claims", claims: [], expected: {} },
    {
      name: "a list of copies is enough where no other is loaded that could confirm it",
      claims: [listed("a", "one.com", "two.com")],
      expected: { "one.com": ["one.com"], "two.com": ["two.com"] },
    },
    {
      name: "otherwise it takes lists of two origins, one of its own observation, or a telling name",
      claims: [
        listed("disposable-domains", "one.com", "copy.com", "both.com"),
        claim("wesbos-burner", "copied", ["copy.com", "both.com"]),
        listed(COPIED, "two.com", "copy.com", "tempmail-x.com"),
        listed(REVIEWED, "reviewed.com"),
        listed("own-list", "both.com"),
      ],
      expected: Object.fromEntries(
        ["one.com", "both.com", "reviewed.com", "tempmail-x.com"].map((name) => [name, [name]]),
      ),
    },
    {
      name: "a mail host of a disposable service confirms a copy; a host of paid mailboxes outweighs one reviewed list",
      claims: [
        listed(
          COPIED,
          "sure.com",
          "shared.com",
          "mixed.com",
          "no-mx.com",
          "late.com",
          "company.com",
          "x.sure.com",
        ),
        listed("disposable-domains", "late.com"),
        copied("sure.com", "shared.com", "mixed.com", "no-mx.com", "late.com", "company.com"),
        listed(REVIEWED, "one.com", "two.com"),
        listed("fakefilter", "two.com", "seen.com"),
        relay("relay.com"),
        hosts({
          "sure.com": "2026-11-01 smtp.yopmail.com",
          "shared.com": "2026-11-01 route1.mx.cloudflare.net",
          "mixed.com": "2026-11-01 smtp.yopmail.com aspmx.l.google.com",
          "no-mx.com": "2026-11-01",
          "relay.com": "2026-11-01 smtp.yopmail.com",
          "on-no-list.com": "2026-11-01 smtp.yopmail.com",
          "company.com": "2026-11-01 mx1-us1.ppe-hosted.com",
          "one.com": "2026-11-01 one-com.mail.protection.outlook.com",
          "two.com": "2026-11-01 aspmx.l.google.com alt1.aspmx.l.google.com",
          "seen.com": "2026-11-01 mx.zoho.eu",
        }),
      ],
      expected: {
        "sure.com": ["sure.com", "yopmail.com"],
        "x.sure.com": ["x.sure.com", "sure.com"],
        "two.com": ["two.com"],
        "seen.com": ["seen.com"],
      },
    },
    {
      name: "two lists of one publisher have one origin",
      claims: [
        { ...listed("disposable-domains", "one.com"), weight: 1 },
        { ...listed("relay-mail", "one.com"), weight: 1 },
        listed(COPIED, "other.com"),
        listed("a", "third.com"),
      ],
      expected: {},
    },
    {
      name: "an old copy takes two old collections that do not copy each other, however many lists repeat it",
      claims: [
        listed("disposable-domains", "kept.com", "old.com", "wrong.com", "x.old.com"),
        listed(COPIED, "kept.com", "old.com", "wrong.com", "tempmail-x.com"),
        listed(REVIEWED, "reviewed.com"),
        copied("kept.com", "old.com", "tempmail-x.com", "reviewed.com", "on-no-list.com"),
        claim("mailchecker-domains", "copied", ["kept.com", "wrong.com", "on-no-list.com"]),
        claim("wesbos-burner", "copied", ["old.com", "wrong.com"]),
      ],
      expected: Object.fromEntries(
        ["kept.com", "x.old.com", "reviewed.com", "tempmail-x.com"].map((name) => [name, [name]]),
      ),
    },
    {
      name: "the only list decides about what is no old copy",
      claims: [listed("tompec-domains", "new.com", "old.com"), copied("old.com")],
      expected: { "new.com": ["new.com"] },
    },
    {
      name: "public suffixes never, the private section included; names below them as any other",
      claims: [
        listed("a", "edu.pl", "my.id", "com", "github.io", "eu.org", "someone.github.io", "throw.my.id"),
      ],
      expected: { "someone.github.io": ["someone.github.io"], "throw.my.id": ["throw.my.id"] },
    },
    {
      name: "special-use names and names under no known suffix never",
      claims: [
        listed("a", "throw.test", "example.com", "mail.example.org", "a.local", "a.nosuchtld", "ok.com"),
      ],
      expected: { "ok.com": ["ok.com"] },
    },
    {
      name: "a relay, below it and above it, up to its registrable domain; not beside it",
      claims: [
        listed("a", "relay.apple.com", "x.relay.apple.com", "apple.com", "other.apple.com", "duck.com"),
        relay("relay.apple.com", "duck.com"),
      ],
      expected: { "other.apple.com": ["other.apple.com"] },
    },
    {
      name: "a relay of the other allow-list too, and against any weight",
      claims: [
        listed("disposable-services", "passmail.net"),
        listed("fakefilter", "passmail.net"),
        claim("relay-mail", "relay", ["passmail.net"]),
      ],
      expected: {},
    },
    {
      name: "providers: the entry, then the service; not when it is the entry itself, unknown or no domain name",
      claims: [
        claim("fakefilter", "disposable", {
          "alias.com": "service.com",
          "service.com": "service.com",
          "other.com": "",
          "words.com": "Some Service",
        }),
      ],
      expected: {
        "alias.com": ["alias.com", "service.com"],
        "service.com": ["service.com"],
        "other.com": ["other.com"],
        "words.com": ["words.com"],
      },
    },
    {
      name: "the heaviest list that knows names the service, in any order of claims",
      claims: [
        claim("unknown", "disposable", { "a.com": "wrong.com", "b.com": "light.com" }),
        claim("fakefilter", "disposable", { "a.com": "right.com", "b.com": "" }),
      ],
      expected: { "a.com": ["a.com", "right.com"], "b.com": ["b.com", "light.com"] },
    },
    {
      name: "below a disposable domain: the parent is the service, unless a list knows it",
      claims: [
        listed("a", "box.com", "x.box.com", "y.x.box.com", "z.known.com"),
        claim("fakefilter", "disposable", { "known.com": "service.com" }),
      ],
      expected: {
        "box.com": ["box.com"],
        "x.box.com": ["x.box.com", "box.com"],
        "y.x.box.com": ["y.x.box.com", "box.com"],
        "known.com": ["known.com", "service.com"],
        "z.known.com": ["z.known.com", "service.com"],
      },
    },
    {
      name: "free mail covers what is below it",
      claims: [listed("tompec-domains", "vip.ordinary.com"), freeMail("ordinary.com")],
      expected: {},
    },
    {
      name: "popularity against a copied list, or a reviewed one; not against a service's own page or two lists",
      claims: [
        listed(COPIED, "copied.com", "reviewed.com", "page.com", "two.com", "tempmail-x.com"),
        listed("disposable-domains", "copied.com"),
        listed(REVIEWED, "reviewed.com", "two.com"),
        listed("fakefilter", "page.com", "two.com"),
        popular("copied.com", "reviewed.com", "page.com", "two.com", "tempmail-x.com"),
        claim("tranco-10k", "popular", ["copied.com", "two.com", "page.com"]),
      ],
      expected: {
        "page.com": ["page.com"],
        "two.com": ["two.com"],
        "tempmail-x.com": ["tempmail-x.com"],
      },
    },
    {
      name: "popularity by rank: beyond the first 100,000, a vote against a reviewed list is even",
      claims: [
        listed(REVIEWED, "first.com", "last.com", "both.com"),
        listed("own-list", "first.com", "both.com"),
        claim("tranco-1m", "popular", { "first.com": "100000", "last.com": "100001", "both.com": "100001" }),
      ],
      expected: { "both.com": ["both.com"] },
    },
    {
      name: "popularity of a parent against a copied list alone",
      claims: [listed(COPIED, "a.big.com"), listed(REVIEWED, "b.big.com"), popular("big.com")],
      expected: { "b.big.com": ["b.big.com"] },
    },
    {
      name: "reserved endings against a copied list alone, in any country",
      claims: [
        listed(
          COPIED,
          ...[
            "city.gov",
            "mail.college.edu",
            "fort.mil",
            "body.int",
            "council.gov.uk",
            "uni.edu.au",
            "x.uni.ac.jp",
          ],
          ...["ministerio.gob.mx", "dept.go.kr", "gov.com", "mygov.uk", "mac.com.pl"],
        ),
        listed(REVIEWED, "throw.ac.nz"),
      ],
      expected: Object.fromEntries(
        ["gov.com", "mygov.uk", "mac.com.pl", "throw.ac.nz"].map((name) => [name, [name]]),
      ),
    },
    {
      name: "an ending under which reviewed lists name three domains is reserved for nobody",
      claims: [
        listed(COPIED, "copied.edu.pl", "copied.edu.gr"),
        listed(REVIEWED, "a.edu.pl", "b.edu.pl", "x.one.edu.gr", "y.one.edu.gr", "z.one.edu.gr"),
        listed("fakefilter", "c.edu.pl"),
      ],
      expected: Object.fromEntries(
        ["copied", "a", "b", "c"]
          .map((name) => `${name}.edu.pl`)
          .concat(["x", "y", "z"].map((name) => `${name}.one.edu.gr`))
          .map((name) => [name, [name]]),
      ),
    },
    {
      name: "a typing error for a large provider against a copied list or a reviewed one, not a service's own page",
      claims: [
        listed(COPIED, "gmai.com", "hotmil.com", "x.hotmil.com"),
        listed(REVIEWED, "gmali.com"),
        listed("fakefilter", "iclou1d.com"),
      ],
      expected: { "iclou1d.com": ["iclou1d.com"] },
    },
    {
      name: "below a shared domain each name is its owner's; the domain itself is nobody's, whoever lists it",
      claims: [
        ...[COPIED, REVIEWED, "fakefilter", "disposable-services"].map((feed) => listed(feed, "dyn.com")),
        listed(COPIED, "throw.dyn.com", "fine.dyn.com"),
        popular("dyn.com"),
        freeMail("fine.dyn.com"),
        shared("dyn.com"),
      ],
      expected: { "throw.dyn.com": ["throw.dyn.com"] },
    },
    {
      name: "popular and shared domains that no list names are not disposable",
      claims: [popular("big.com"), shared("dyn.com"), listed(COPIED, "some.com")],
      expected: { "some.com": ["some.com"] },
    },
    {
      name: "a free name below a disposable domain stays disposable: a lookup walks up to it",
      claims: [listed("a", "box.com", "x.box.com"), freeMail("x.box.com")],
      expected: { "box.com": ["box.com"], "x.box.com": ["x.box.com", "box.com"] },
    },
  ];
  for (const { name, claims, expected } of rows)
    test(name, () => {
      expect(Object.fromEntries(judgeDomains(claims).disposable)).toEqual(expected);
      expect(Object.fromEntries(judgeDomains(claims.toReversed()).disposable)).toEqual(expected);
    });
});

describe("where lists disagree", () => {
  const rows: [name: string, claims: DomainClaims[], verdict: string, reason: string][] = [
    [
      "a copied list against an allow-list",
      [listed("tompec-domains", "some.com"), freeMail("some.com")],
      "not disposable",
      "1 for disposable (tompec-domains 1), 2 against (free-mail 2)",
    ],
    [
      "as many against as for",
      [listed("disposable-email-domains", "some.com"), freeMail("some.com")],
      "not disposable",
      "2 for disposable (disposable-email-domains 2), 2 against (free-mail 2)",
    ],
    [
      "two lists against one",
      [listed("disposable-email-domains", "some.com"), listed("own-list", "some.com"), freeMail("some.com")],
      "disposable",
      "3 for disposable (disposable-email-domains 2, own-list 1), 2 against (free-mail 2)",
    ],
    [
      "two lists against one, of which the second copies the first",
      [
        listed("disposable-email-domains", "some.com"),
        listed("disposable-domains", "some.com"),
        freeMail("some.com"),
      ],
      "not disposable",
      "2 for disposable (disposable-email-domains 2, disposable-domains 1; copies count once), 2 against (free-mail 2)",
    ],
    [
      "the name counts for disposable",
      [listed("tompec-domains", "my-temp-mail.com"), freeMail("my-temp-mail.com")],
      "disposable",
      "4 for disposable (tompec-domains 1, its name 3), 2 against (free-mail 2)",
    ],
    [
      "all default lists against our own",
      [
        ...["disposable-email-domains", "fakefilter", "tompec-domains"].map((feed) =>
          listed(feed, "some.com"),
        ),
        claim("ordinary-mail", "free", { "some.com": "Some" }),
      ],
      "not disposable",
      "6 for disposable (disposable-email-domains 2, fakefilter 4, tompec-domains 1; copies count once), 8 against (ordinary-mail 8)",
    ],
    [
      "a service's own page against an allow-list",
      [listed("disposable-services", "some.com"), freeMail("some.com")],
      "disposable",
      "4 for disposable (disposable-services 4), 2 against (free-mail 2)",
    ],
    [
      "a name below a domain that was voted disposable: one conflict",
      [
        listed("disposable-email-domains", "some.com", "x.some.com"),
        listed("own-list", "some.com"),
        freeMail("some.com"),
      ],
      "disposable",
      "3 for disposable (disposable-email-domains 2, own-list 1), 2 against (free-mail 2)",
    ],
    [
      "feeds without a weight",
      [listed("opt-in", "some.com"), claim("opt-in-too", "free", ["some.com"])],
      "not disposable",
      "1 for disposable (opt-in 1), 1 against (opt-in-too 1)",
    ],
  ];
  for (const [name, claims, verdict, reason] of rows)
    test(name, () => {
      const { disposable, conflicts } = judgeDomains(claims);
      expect(conflicts).toEqual([{ domain: conflicts[0]!.domain, verdict: verdict as "disposable", reason }]);
      expect(disposable.has(conflicts[0]!.domain)).toBe(verdict === "disposable");
    });

  test("conflicts include domains below disposable ones, sorted by name", () => {
    const { conflicts } = judgeDomains([
      listed("a", "box.com", "x.box.com", "a.com"),
      freeMail("x.box.com", "a.com"),
    ]);
    expect(conflicts.map(({ domain, reason }) => [domain, reason])).toEqual([
      ["a.com", "1 for disposable (a 1), 2 against (free-mail 2)"],
      ["x.box.com", "under box.com, which is disposable"],
    ]);
  });

  test("a disposable name without a list is not disposable", () => {
    expect(judgeDomains([freeMail("tempmail.com")]).disposable.size).toBe(0);
    for (const word of DISPOSABLE_WORDS) expect(hasDisposableName([`my-${word}.com`])).toBe(true);
    expect(hasDisposableName(["trash-mail.co.uk", "co.uk"])).toBe(true);
    expect(hasDisposableName([])).toBe(false);
  });
});

test("random claims: the verdicts are consistent", () => {
  const universe = [
    ...["a.com", "x.a.com", "y.x.a.com", "z.a.com", "b.com", "x.b.com", "tempmail.com", "q.tempmail.com"],
    ...[
      "co.uk",
      "c.co.uk",
      "x.c.co.uk",
      "github.io",
      "d.github.io",
      "x.d.github.io",
      "a.test",
      "example.com",
    ],
  ];
  const feeds: [string, DomainSubject][] = [
    ["disposable-email-domains", "disposable"],
    ["tompec-domains", "disposable"],
    ["disposable-services", "disposable"],
    ["free-mail", "free"],
    ["ordinary-mail", "free"],
    ["relay-domains", "relay"],
    ["cloudflare-top-100k", "popular"],
    ["shared-domains", "shared"],
    ["ivolo-domains", "copied"],
  ];
  const registrable = universe.filter((name) => walkUp(name).length === 1);
  const claims = fc.tuple(
    ...feeds.map(([feed, subject]) => {
      const most = subject === "disposable" ? 8 : 3;
      return fc
        .subarray(subject === "shared" ? registrable : universe, { maxLength: most })
        .map((domains) => claim(feed, subject, domains));
    }),
  );
  let flagged = 0;
  let disagreed = 0;
  fc.assert(
    fc.property(claims, (claims) => {
      const { disposable, conflicts } = judgeDomains(claims);
      const relays = claims.flatMap((c) => (c.subject === "relay" ? [...c.domains.keys()] : []));
      const sharedDomains = claims.flatMap((c) => (c.subject === "shared" ? [...c.domains.keys()] : []));
      const named = new Set(claims.flatMap((c) => (c.subject === "disposable" ? [...c.domains.keys()] : [])));
      for (const [domain, providers] of disposable) {
        flagged++;
        expect(named).toContain(domain);
        expect(providers[0]).toBe(domain);
        expect(new Set(providers).size).toBe(providers.length);
        expect(walkUp(domain)).not.toEqual([]);
        expect(sharedDomains).not.toContain(domain);
        expect(
          relays.filter((name) => walkUp(domain).includes(name) || walkUp(name).includes(domain)),
        ).toEqual([]);
      }
      for (const { domain, verdict } of conflicts) {
        disagreed++;
        expect(walkUp(domain).some((name) => disposable.has(name))).toBe(verdict === "disposable");
      }
      const reversed = judgeDomains(claims.toReversed());
      expect([...reversed.disposable].sort()).toEqual([...disposable].sort());
      expect(reversed.conflicts.map((c) => [c.domain, c.verdict])).toEqual(
        conflicts.map((c) => [c.domain, c.verdict]),
      );
    }),
    { numRuns: 400 },
  );
  expect(flagged).toBeGreaterThan(500);
  expect(disagreed).toBeGreaterThan(200);
});

const PACKAGE = join(import.meta.dir, "../..");
const MAIL_FEEDS = FEEDS.filter((feed) => isDomainFormat(feed.format));

test("our own lists name each domain once, no public suffix, and a service that is a domain where it is a provider", () => {
  const own = MAIL_FEEDS.filter((feed) => feed.own);
  expect(own.map((feed) => feed.id).sort()).toEqual([
    "disposable-services",
    "ordinary-mail",
    "relay-domains",
    "shared-domains",
  ]);
  const seen = new Set<string>();
  for (const { own: file, format, sets } of own) {
    const { domains } = parseDomains(format, readFileSync(join(PACKAGE, file!)));
    for (const [domain, service] of domains) {
      expect([domain, walkUp(domain).length > 0, seen.has(domain)]).toEqual([domain, true, false]);
      seen.add(domain);
      if (sets === "disposable") expect(walkUp(service)).not.toEqual([]);
      if (sets === "shared") expect(walkUp(domain)).toEqual([domain]); // nothing above it could be disposable
    }
  }
  expect(seen.size).toBeGreaterThan(250);
});

test("weights are only given to feeds that exist", () => {
  const ids = FEEDS.map((feed) => feed.id);
  for (const feed of Object.keys(WEIGHTS)) expect(ids).toContain(feed);
});
