import { describe, expect, test } from "bun:test";
import { cleanName, nameKeys, withoutDistrict } from "./place-names.ts";

describe("a clean name", () => {
  const rows: [why: string, text: string, clean: string | undefined][] = [
    ["plain ASCII stays", "South Brisbane", "South Brisbane"],
    ["brackets and marks stay", "Abuja (Wuse)", "Abuja (Wuse)"],
    ["other scripts stay", "東京", "東京"],
    ["white space at the ends and double", "  New \t York\u00a0 ", "New York"],
    ["controls", "Köln\u0000\u001b[31m", "Köln [31m"],
    ["direction marks and zero width", "\u202eNicosia\u200b\ufeff", "Nicosia"],
    ["joiners that Persian needs stay", "می\u200cخواهم", "می\u200cخواهم"],
    ["NFC", "Sa\u0303o Paulo", "São Paulo"],
    ["replacement characters", "S\ufffdo", "S o"],
    ["a lone surrogate", "A\ud800B", "A B"],
    [
      "what a spreadsheet would run",
      '=HYPERLINK("http://evil.example","Paris")',
      'HYPERLINK("http://evil.example","Paris")',
    ],
    ["signs in a row, with controls between", "\t+-\u200b@ =SUM(A1)", "SUM(A1)"],
    ["a formula in full width", "\uff1d\uff0bA1", "A1"],
    ["a hyphen inside stays", "Stoke-on-Trent", "Stoke-on-Trent"],
    ["an apostrophe in front stays", "'s-Hertogenbosch", "'s-Hertogenbosch"],
    ["empty", "", undefined],
    ["only white space", " \u2003", undefined],
    ["a dash for unknown", "-", undefined],
    ["a question mark", "?", undefined],
  ];
  test.each(rows)("%s", (_why, text, clean) => expect(cleanName(text)).toBe(clean));
});

describe("names that are the same when compared", () => {
  const same: [a: string, b: string][] = [
    ["Baden-Württemberg", "BADEN WURTTEMBERG"],
    ["Østfold", "Ostfold"],
    ["Łódź Voivodeship", "Lodz"],
    ["Provence-Alpes-Côte-d’Azur", "Provence-Alpes-Cote d'Azur"],
    ["Saint Andrew", "St. Andrew Parish"],
    ["Adygeya, Respublika", "Republic of Adygeya"],
    ["Zabaykalskiy (Transbaikal) Kray", "Zabaykalskiy"],
    ["Sirmium and Syrmia", "Sirmium & Syrmia"],
    ["Tinh Quang Nam", "Quang Nam Province"],
  ];
  test.each(same)("%s = %s", (a, b) => {
    const other = new Set(nameKeys(b).loose);
    expect(nameKeys(a).loose.some((key) => other.has(key))).toBe(true);
  });

  test("a name that consists of type words keeps them", () => {
    expect(nameKeys("Capital District").loose).toEqual(["capitaldistrict"]);
  });

  test("the whole name keeps its kind", () => {
    expect(nameKeys("Minsk City").whole).not.toBe(nameKeys("Minsk").whole);
  });
});

describe("a city without its district", () => {
  test.each([
    ["KR", "Seoul (Toegye-ro)", "Seoul"],
    ["KR", "Yongsan-dong (Seongsu-dong 2(i)-ga)", "Yongsan-dong"],
    ["US", "Washington D.C. (Northwest Washington)", "Washington D.C."],
    ["DE", "Frankfurt (Oder)", "Frankfurt (Oder)"],
    ["DE", "Frankfurt (Oder) (Kliestow)", "Frankfurt (Oder)"],
    ["DE", "Halle (Saale)", "Halle (Saale)"],
    ["DE", "Frankfurt am Main (Innenstadt I)", "Frankfurt am Main"],
    ["DE", "Freiburg (Elbe) Flecken", "Freiburg (Elbe) Flecken"],
    ["US", "Springfield (Hessen)", "Springfield"],
    ["PL", "(Ogrody)", "(Ogrody)"],
    ["GB", "London", "London"],
    [undefined, "Nowhere (Centre)", "Nowhere"],
    ["GB", undefined, undefined],
  ])("%s %s: %s", (country, name, city) => expect(withoutDistrict(name, country)).toBe(city));
});
