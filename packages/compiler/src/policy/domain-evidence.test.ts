// Tests the reasons why a domain is disposable or not, with a table for each rule, and with random lists whose evidence
// has to add up to the verdict.

import { describe, expect, test } from "bun:test";
import { SPAN_NONE, walkUp } from "@inkling/engine";
import fc from "fast-check";
import type { DomainClaims, DomainSubject } from "../catalog/claims.ts";
import { domainEvidence } from "./domain-evidence.ts";
import { judgeDomains } from "./email.ts";

const list = (feed: string, subject: DomainSubject, ...domains: string[]): DomainClaims => ({
  feed,
  subject,
  domains: new Map(domains.map((domain) => [domain, ""])),
});

function evidenceOf(claims: readonly DomainClaims[], domain: string) {
  return domainEvidence(claims, judgeDomains(claims)).get(domain);
}

/** Formats each entry as feed, effect, labels, weight and why. */
function short(claims: readonly DomainClaims[], domain: string): string[] | undefined {
  return evidenceOf(claims, domain)?.map(({ feed, effect, span, weight, why }) =>
    [feed, effect, span === SPAN_NONE ? "-" : span, weight, why]
      .filter((part) => part !== undefined)
      .join(" "),
  );
}

const rows: readonly [name: string, claims: DomainClaims[], domain: string, entries: string[] | undefined][] =
  [
    ["one list", [list("a", "disposable", "x.com")], "x.com", ["a sets 2"]],
    [
      "two lists, by name",
      [list("b", "disposable", "x.com"), list("a", "disposable", "x.com")],
      "x.com",
      ["a sets 2", "b sets 2"],
    ],
    [
      "its parent's entry where it has none of its own",
      [list("a", "disposable", "x.com"), list("b", "disposable", "y.x.com")],
      "y.x.com",
      ["a sets 2", "b sets 3"],
    ],
    [
      "a telling name beside one of two lists",
      [list("a", "disposable", "tempmail-x.com"), list("b", "disposable", "y.com")],
      "tempmail-x.com",
      ["a sets 2", "inkling sets - 3 its name shows its purpose"],
    ],
    ["free mail alone", [list("f", "free", "x.com")], "x.com", ["f label 2"]],
    ["a relay alone", [list("r", "relay", "x.com")], "x.com", ["r label 2"]],
    [
      "a relay on a list",
      [list("a", "disposable", "x.com"), list("r", "relay", "x.com")],
      "x.com",
      ["a sets 2", "r removes 2"],
    ],
    [
      "above a relay",
      [list("a", "disposable", "x.com"), list("r", "relay", "y.x.com")],
      "x.com",
      ["a sets 2", "r removes - a relay is under it"],
    ],
    [
      "a relay and free mail: there was no vote",
      [list("a", "disposable", "x.com"), list("f", "free", "x.com"), list("r", "relay", "x.com")],
      "x.com",
      ["a sets 2", "f label 2", "r removes 2"],
    ],
    [
      "a lost vote",
      [list("fakefilter", "disposable", "x.com"), list("ordinary-mail", "free", "x.com")],
      "x.com",
      ["fakefilter sets 2 4", "ordinary-mail removes 2 8"],
    ],
    [
      "a vote that is even counts for the user",
      [list("a", "disposable", "x.com"), list("f", "free", "x.com")],
      "x.com",
      ["a sets 2 1", "f removes 2 1"],
    ],
    [
      "a won vote",
      [list("disposable-services", "disposable", "x.com"), list("free-mail", "free", "x.com")],
      "x.com",
      [
        "disposable-services sets 2 4",
        "free-mail label 2 2 the lists that mark it as disposable outweigh this one",
      ],
    ],
    [
      "a vote that the name won",
      [list("a", "disposable", "tempmail.com"), list("free-mail", "free", "tempmail.com")],
      "tempmail.com",
      [
        "a sets 2 1",
        "free-mail label 2 2 the lists that mark it as disposable outweigh this one",
        "inkling sets - 3 its name shows its purpose",
      ],
    ],
    [
      "free mail below a disposable domain",
      [list("a", "disposable", "x.com"), list("f", "free", "y.x.com")],
      "y.x.com",
      ["a sets 2 1", "f label 3 1 it is under a disposable domain"],
    ],
    [
      "a name that cannot receive mail",
      [list("a", "disposable", "x.test")],
      "x.test",
      ["a label 2 no mail can come from this domain"],
    ],
    [
      "popular, on a copied list",
      [list("a", "disposable", "x.com"), list("cloudflare-top-100k", "popular", "x.com")],
      "x.com",
      ["a sets 2 1", "cloudflare-top-100k removes 2 3"],
    ],
    [
      "popular, on a service's own page",
      [list("fakefilter", "disposable", "x.com"), list("tranco-10k", "popular", "x.com")],
      "x.com",
      ["fakefilter sets 2 4", "tranco-10k label 2 3 the lists that mark it as disposable outweigh this one"],
    ],
    [
      "below a popular domain",
      [list("a", "disposable", "y.x.com"), list("tranco-10k", "popular", "x.com")],
      "y.x.com",
      ["a sets 3 1", "tranco-10k removes 2 1"],
    ],
    ["popular alone", [list("tranco-10k", "popular", "x.com")], "x.com", undefined],
    [
      "an institution's name",
      [list("a", "disposable", "x.gov.uk")],
      "x.gov.uk",
      ["a sets 3 1", "inkling removes - 1 only institutions can get names under gov.uk"],
    ],
    [
      "a mistyped name",
      [list("a", "disposable", "gmai.com")],
      "gmai.com",
      ["a sets 2 1", "inkling removes - 2 it looks like a typo of a large provider"],
    ],
    [
      "a shared domain, and free mail: there was no vote",
      [list("a", "disposable", "x.com"), list("f", "free", "x.com"), list("s", "shared", "x.com")],
      "x.com",
      ["a label 2 names under it belong to unrelated people", "f label 2", "s label -"],
    ],
    [
      "below a shared domain: only what names it itself",
      [list("a", "disposable", "x.com"), list("b", "disposable", "y.x.com"), list("s", "shared", "x.com")],
      "y.x.com",
      ["b label 3 the list copies other lists, and no independent list confirms it"],
    ],
    ["a shared domain on no list", [list("s", "shared", "x.com")], "x.com", undefined],
    ["a public suffix", [list("a", "disposable", "co.uk")], "co.uk", undefined],
    ["not listed", [list("a", "disposable", "x.com")], "y.com", undefined],
  ];

describe("domainEvidence", () => {
  test.each(rows)("%s", (_, claims, domain, entries) => {
    expect(short(claims, domain)).toEqual(entries as string[]);
    expect(short(claims.toReversed(), domain)).toEqual(entries as string[]);
  });

  test("domains with the same evidence share one array", () => {
    const claims = [list("a", "disposable", "x.com", "y.com", "z.x.com")];
    expect(evidenceOf(claims, "x.com")).toEqual(evidenceOf(claims, "y.com")!);
    const evidence = domainEvidence(claims, judgeDomains(claims));
    expect(evidence.get("x.com")).toBe(evidence.get("y.com")!);
    expect(evidence.get("z.x.com")).not.toBe(evidence.get("x.com")!);
  });

  test("random claims: disposable means that an entry sets it and none removes it", () => {
    const name = fc
      .tuple(
        fc.constantFrom("", "a.", "b.", "a.b."),
        fc.constantFrom("x.com", "tempmail.de", "y.co.uk", "z.test", "gmai.com", "z.gov.uk"),
      )
      .map((parts) => parts.join(""));
    const feed = fc.constantFrom(
      ...["a", "fakefilter", "free-mail", "ordinary-mail", "disposable-services", "r", "tranco-10k"],
    );
    const claim = fc
      .tuple(
        feed,
        fc.constantFrom<DomainSubject>(
          "disposable",
          "free",
          "relay",
          "popular",
          "shared",
          "copied",
          "mail_host",
        ),
        fc.array(name, { maxLength: 5 }),
      )
      .map(([id, subject, names]) =>
        list(
          id,
          subject,
          ...names.map((name) => (subject === "shared" ? (walkUp(name).at(-1) ?? name) : name)),
        ),
      );
    const lists = fc.uniqueArray(claim, { maxLength: 6, selector: ({ feed }) => feed });
    let disposable = 0;
    let removed = 0;
    fc.assert(
      fc.property(lists, (claims) => {
        const verdicts = judgeDomains(claims);
        const evidence = domainEvidence(claims, verdicts);
        const entered = claims.filter(
          ({ subject }) => !["popular", "shared", "copied", "mail_host"].includes(subject),
        );
        const listed = new Set(entered.flatMap(({ domains }) => [...domains.keys()]));
        expect(new Set(evidence.keys())).toEqual(listed);
        for (const [domain, entries] of evidence) {
          const isDisposable = walkUp(domain).some((name) => verdicts.disposable.has(name));
          const has = (effect: string) => entries.some((entry) => entry.effect === effect);
          expect(has("sets") && !has("removes")).toBe(isDisposable);
          if (isDisposable) disposable++;
          if (has("removes")) removed++;
        }
      }),
      { numRuns: 4_600 },
    );
    expect(disposable).toBeGreaterThan(1_000);
    expect(removed).toBeGreaterThan(1_000);
  });
});
