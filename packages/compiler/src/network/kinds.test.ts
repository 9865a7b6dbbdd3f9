// Tests the rules for kinds of networks. Each row of the table has an effect. Names that fit no rule, or rules of two
// kinds, remain unknown.

import { describe, expect, test } from "bun:test";
import { NETWORK_KINDS } from "@inkling/contract";
import type { KindClaims, NetworkKind } from "../catalog/claims.ts";
import { dataTable } from "../parse/csv.ts";
import { judgeKind, kindOf, readRules } from "./kinds.ts";

const ROWS = dataTable("network-kinds.csv");
const OTHER = 3_000_000;

test("every row of the table gives its kind to its own words", () => {
  const rules = readRules(ROWS);
  for (const row of ROWS) {
    const [type, match = "", kind] = row;
    const found =
      type === "asn" ? kindOf(Number(match), "", rules) : kindOf(OTHER, match.replaceAll("*", ""), rules);
    expect([...row, found?.kind ?? "unknown"]).toEqual([...row, kind!]);
  }
  expect(ROWS.length).toBeGreaterThan(300);
});

describe("names", () => {
  test.each([
    ["University of California, San Diego", "education"],
    ["Universität Zürich", "education"],
    ["UNIVERSIDADE DE SÃO PAULO", "education"],
    ["Clark County School District", "education"],
    ["Deutsche Telekom AG", "isp"],
    ["PJSC Rostelecom", "isp"],
    ["Charter Communications Inc", "isp"],
    ["T-Mobile USA, Inc.", "mobile"],
    ["China Mobile Communications Corporation", "mobile"],
    ["A2 Hosting, Inc.", "hosting"],
    ["Huawei Cloud Service data center", "hosting"],
    ["Hanze University Network", "education"],
    ["Example Internet Hosting", "hosting"],
    ["Provedor Andes Ltda", "isp"],
    ["Grupo Sertel", "isp"],
    ["Grand Hotel", "business"],
    ["Istanbul Metropolitan Municipality", "government"],
    ["City of Phoenix", "government"],
    ["Royal Bank of Canada", "business"],
    // ambiguous names
    ["Google LLC", undefined],
    // Half of the Content networks that a rule called an ISP had names like these.
    ["Lysenet", undefined],
    ["SurfLink Ltda", undefined],
    ["Online Connect", undefined],
    ["", undefined],
    ["Vodafone Hosting", undefined],
    ["Telecom Cartel", undefined],
    ["Blue Planet Ltd", undefined],
    ["Ministry of Telecommunications", undefined],
    ["University Federal Credit Union", undefined],
    ["Orange County", undefined],
    ["Preschooler Toys", undefined],
    ["Mobile Infirmary", undefined],
    ["Bankside Gallery", undefined],
    ["Governors Island Trust", undefined],
  ])("%s: %s", (name, kind) => expect(kindOf(OTHER, name)?.kind).toBe(kind as never));

  test("a system with a row of its own is of that kind whatever its name; unknown keeps names from deciding", () => {
    expect(kindOf(16509, "University of Nowhere")).toEqual({ kind: "hosting", rule: "asn 16509" });
    expect(kindOf(174, "Cogent Communications")).toBeUndefined();
  });
});

/** For each type of row, whether its text and its reason are valid. */
const IS_VALID: Readonly<Record<string, (match: string, reason: string) => boolean>> = {
  asn: (match, reason) => /^[1-9][0-9]{0,9}$/.test(match) && reason.startsWith("https://"),
  word: (match, reason) =>
    match.split(" ").every((word) => /^(\*?[a-z0-9]{2,}\*?|[a-z0-9])$/.test(word)) &&
    !/^[a-z0-9]{1,3}\*/.test(match) && // rules are found by the first three letters
    reason !== "",
};

test("every row of the table is valid, and listed once", () => {
  const isValid = ([type = "", match = "", kind, reason = ""]: readonly string[]) =>
    IS_VALID[type]?.(match, reason) && NETWORK_KINDS.includes(kind as NetworkKind);
  expect(ROWS.filter((row) => !isValid(row))).toEqual([]);
  expect(new Set(ROWS.map(([type, match]) => `${type} ${match}`)).size).toBe(ROWS.length);
});

describe("what feeds state of a system", () => {
  const claim = (feed: string, weight: number, kind: NetworkKind, ...lineage: string[]): KindClaims => ({
    feed,
    kinds: new Map([[OTHER, kind]]),
    weight,
    lineage,
  });
  const metadata = (kind: NetworkKind) => claim("metadata", 3, kind);
  const centres = claim("centres", 1, "hosting", "companies");
  const companies = claim("companies", 1, "hosting");
  test.each<[what: string, name: string, claims: KindClaims[], kind: NetworkKind]>([
    ["nobody knows it", "Example", [], "unknown"],
    ["a list alone, where the name says nothing", "Example", [companies], "hosting"],
    [
      "the name beats a list, and two that copy each other",
      "Example University",
      [centres, companies],
      "education",
    ],
    [
      "two that do not copy each other are as heavy as the name",
      "Example University",
      [companies, claim("x", 1, "hosting")],
      "unknown",
    ],
    ["the feed of several signals beats the name", "Example University", [metadata("business")], "business"],
    [
      "it beats the name together with a list",
      "Example Telecom",
      [metadata("business"), centres],
      "business",
    ],
    [
      "a mobile operator is an isp to it",
      "Example Mobile Communications Wireless",
      [metadata("isp")],
      "mobile",
    ],
  ])("%s", (_what, name, claims, kind) => expect(judgeKind(OTHER, name, claims).kind).toBe(kind));

  test("a row about the system decides alone", () =>
    expect(
      judgeKind(16509, "Amazon", [{ ...metadata("business"), kinds: new Map([[16509, "business"]]) }]).kind,
    ).toBe("hosting"));
});
