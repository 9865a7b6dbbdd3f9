// The rules for kinds of networks: each row of the table decides, and names that fit no rule or two stay unknown.

import { describe, expect, test } from "bun:test";
import { dataTable } from "../place/data-table.ts";
import { kindOf, readRules } from "./kinds.ts";

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
    ["Istanbul Metropolitan Municipality", "government"],
    ["City of Phoenix", "government"],
    ["Royal Bank of Canada", "business"],
    // In doubt
    ["Google LLC", undefined],
    ["", undefined],
    ["Telecom Cloud Ltd", undefined],
    ["Ministry of Telecommunications", undefined],
    ["University Federal Credit Union", undefined],
    ["Orange County", undefined],
    ["Preschooler Toys", undefined],
    ["Hostel World", undefined],
    ["Mobile Infirmary", undefined],
    ["Bankside Gallery", undefined],
    ["Governors Island Trust", undefined],
  ])("%s: %s", (name, kind) => expect(kindOf(OTHER, name)?.kind).toBe(kind as never));

  test("a system with a row of its own is of that kind whatever its name; unknown keeps names from deciding", () => {
    expect(kindOf(16509, "University of Nowhere")).toEqual({ kind: "hosting", rule: "asn 16509" });
    expect(kindOf(174, "Cogent Communications")).toBeUndefined();
  });
});

describe("a wrong row is refused", () => {
  test.each([
    [["word", "school", "learning", "x"], "learning is no kind"],
    [["word", "School", "education", "x"], "not words in lower case"],
    [["word", "ab*", "education", "x"], "less than"],
    [["word", "school", "education", ""], "lacks its reason"],
    [["asn", "16509", "hosting", "a word"], "source"],
    [["asn", "AS1", "hosting", "https://x.org"], "no number"],
    [["name", "x", "isp", "x"], "neither"],
  ])("%p", (row, problem) => expect(() => readRules([row])).toThrow(problem));
  test("twice", () => {
    const row = ["word", "school", "education", "x"];
    expect(() => readRules([row, row])).toThrow("twice");
  });
});
