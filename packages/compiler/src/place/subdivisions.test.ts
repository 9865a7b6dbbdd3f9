import { describe, expect, test } from "bun:test";
import { iso31662 } from "iso-3166";
import { dataTable } from "../parse/csv.ts";
import { findSubdivisionCode, findSubdivisionName } from "./subdivisions.ts";

describe("the code of a name", () => {
  const rows: [why: string, country: string, name: string, code: string | undefined][] = [
    ["ISO's own name", "US", "California", "CA"],
    ["without marks", "BR", "Sao Paulo", "SP"],
    ["English name of CLDR", "DE", "North Rhine-Westphalia", "NW"],
    ["kind in front", "AT", "State of Vienna", "9"],
    ["kind behind", "EG", "Giza Governorate", "GZ"],
    ["nation inside a country", "GB", "England", "ENG"],
    ["larger before smaller of the same name", "ES", "Madrid", "MD"],
    ["larger before smaller, by CLDR", "LT", "Vilnius", "VL"],
    ["region of 2016", "FR", "Occitanie", "OCC"],
    ["merged into a region of 2016", "FR", "Rhone-Alpes", "ARA"],
    ["Norwegian county of 2024", "NO", "Akershus", "32"],
    ["Norwegian county of 2020, kept", "NO", "Vestland", "46"],
    ["Norwegian county of 2020, split since", "NO", "Viken", undefined],
    ["Indian code of 2023", "IN", "Telangana", "TS"],
    ["Iran's codes of 2020, which CLDR 41 does not know", "IR", "Tehran", "23"],
    ["Morocco's regions of 2015, the same", "MA", "Oriental", "02"],
    ["Kazakh code of 2022", "KZ", "Pavlodar Region", "55"],
    ["city and region of one name: the city", "KZ", "Almaty", "75"],
    ["city and region of one name: the region", "KZ", "Almaty Region", "19"],
    ["the region, because the city is named otherwise", "BY", "Minsk", "MI"],
    ["known to be ambiguous", "TW", "Taipei", undefined],
    ["two codes of the same name", "TW", "Chiayi", undefined],
    ["no subdivision", "TW", "Taiwan", undefined],
    ["a country without codes", "PR", "San Juan", undefined],
    ["another country's subdivision", "US", "Ontario", undefined],
    ["no country", "ZZ", "Somewhere", undefined],
    ["nothing to compare", "US", "()", undefined],
  ];
  test.each(rows)("%s: %s %s -> %s", (_why, country, name, code) => {
    expect(findSubdivisionCode(country, name)).toBe(code);
  });

  test("inside a larger one", () => {
    expect(findSubdivisionCode("ES", "Valencia", "VC")).toBe("V");
    expect(findSubdivisionCode("GB", "Kent", "ENG")).toBe("KEN");
  });
});

test("the name of a code is English where it is known", () => {
  expect(findSubdivisionName("DE", "BY")).toBe("Bavaria");
  expect(findSubdivisionName("US", "CA")).toBe("California");
  expect(findSubdivisionName("NO", "32")).toBe("Akershus");
  expect(findSubdivisionName("US", "ZZ")).toBeUndefined();
});

describe("the tables", () => {
  const iso = new Set(iso31662.map(({ code }) => code));
  const changes = dataTable("subdivision-changes.csv");
  const added = new Set(changes.filter(([change]) => change === "added").map(([, code]) => code!));
  const withdrawn = new Set(changes.filter(([change]) => change === "withdrawn").map(([, code]) => code!));

  test("changes add what iso-3166 lacks and withdraw what it has", () => {
    expect([...added].filter((code) => iso.has(code))).toEqual([]);
    expect([...withdrawn].filter((code) => !iso.has(code))).toEqual([]);
    expect(changes.every(([change]) => change === "added" || change === "withdrawn")).toBe(true);
  });

  test.each(["subdivision-names.csv", "subdivision-aliases.csv"])(
    "every code in %s is one of today",
    (file) => {
      const rows = dataTable(file);
      expect(rows.length).toBeGreaterThan(100);
      const stale = rows.map(([code]) => code!).filter((code) => !(code.endsWith("-") || isCurrent(code)));
      expect(stale).toEqual([]);
    },
  );

  test("every code in subdivision-cities.csv is one of today, and a city stands once", () => {
    const rows = dataTable("subdivision-cities.csv");
    expect(rows.map(([code]) => code!).filter((code) => !isCurrent(code))).toEqual([]);
    const cities = rows.map(([code, name, city]) => `${code!.slice(0, 2)} ${name} ${city}`);
    expect(new Set(cities).size).toBe(cities.length);
  });

  test("a spelling stands once in its country", () => {
    const seen = new Set<string>();
    const twice = dataTable("subdivision-aliases.csv").filter(([code, name]) => {
      const key = `${code!.slice(0, 2)} ${name}`;
      return seen.size === seen.add(key).size;
    });
    expect(twice).toEqual([]);
  });

  function isCurrent(code: string): boolean {
    const [country, rest] = [code.slice(0, 2), code.slice(3)];
    return (
      findSubdivisionName(country, rest) !== undefined &&
      (iso.has(code) || added.has(code)) &&
      !withdrawn.has(code)
    );
  }
});

test("every name of ISO leads to its own code or to none, except where the alias table decides", () => {
  let same = 0;
  const other: string[] = [];
  for (const { code, name, parent } of iso31662) {
    const [country, rest] = [code.slice(0, 2), code.slice(3)];
    if (findSubdivisionName(country, rest) === undefined) continue;
    const found = findSubdivisionCode(country, name, parent === country ? undefined : parent.slice(3));
    if (found === rest) same++;
    else if (found !== undefined) other.push(`${code} ${name} -> ${found}`);
  }
  expect(other).toEqual([
    "EE-793 Tartu -> 79", // city, rural municipality, and the county around them
    "EE-796 Tartu -> 79",
    "HU-VM Veszprém -> VE", // city, and the county around it
    "ID-ML Maluku -> MA", // a group of islands, and the province with the same name
    "ID-PP Papua -> PA",
    "KZ-19 Almaty -> 75", // a region, and the city that it is named after
    "PE-LIM Lima -> LMA",
    "UA-30 Kyiv -> 32", // a city; feeds call it "Kyiv City" and call the region "Kyiv"
  ]);
  expect(same).toBeGreaterThan(4_900);
});
