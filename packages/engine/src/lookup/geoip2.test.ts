import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type GeolocateAnswer, geoip2City, geoip2Country, geoip2Traits } from "./geoip2.ts";

const NOTHING: GeolocateAnswer = {
  city: {},
  continent: {},
  country: {},
  location: {},
  postal: {},
  registered_country: {},
  subdivisions: [],
};
const BOXFORD: GeolocateAnswer = {
  city: { name: "Boxford" },
  continent: { code: "EU", name: "Europe" },
  country: { iso_code: "GB", name: "United Kingdom" },
  location: { accuracy_radius: 20, latitude: 51.75, longitude: -1.25, time_zone: "Europe/London" },
  postal: { code: "OX1" },
  registered_country: { iso_code: "FR", name: "France" },
  subdivisions: [{ iso_code: "ENG", name: "England" }, { name: "Berkshire" }],
};

describe("a location as GeoIP2", () => {
  test("City has every member that is known, names by language", () => {
    assert.deepEqual(geoip2City(BOXFORD), {
      city: { names: { en: "Boxford" } },
      continent: { code: "EU", names: { en: "Europe" } },
      country: { iso_code: "GB", names: { en: "United Kingdom" } },
      registered_country: { is_in_european_union: true, iso_code: "FR", names: { en: "France" } },
      location: { accuracy_radius: 20, latitude: 51.75, longitude: -1.25, time_zone: "Europe/London" },
      postal: { code: "OX1" },
      subdivisions: [{ iso_code: "ENG", names: { en: "England" } }, { names: { en: "Berkshire" } }],
    });
  });

  test("Country has three of them", () => {
    assert.deepEqual(Object.keys(geoip2Country(BOXFORD)), ["continent", "country", "registered_country"]);
  });

  test("what is unknown is omitted, with its member where nothing of that is known", () => {
    assert.deepEqual([geoip2City(NOTHING), geoip2Country(NOTHING)], [{}, {}]);
    const little = { ...NOTHING, country: { iso_code: "XK" }, location: { latitude: 0 } };
    assert.deepEqual(geoip2City(little), { country: { iso_code: "XK" }, location: { latitude: 0 } });
  });

  const isMember = (iso_code: string) =>
    geoip2Country({ ...NOTHING, country: { iso_code } }).country?.is_in_european_union;
  test("the European Union: its members, and parts of them with a code of their own", () => {
    for (const code of ["DE", "GR", "HR", "RE", "AX"]) assert.equal(isMember(code), true, code);
    // These countries left the Union or never joined it, or are territories of a member outside the Union.
    for (const code of ["GB", "CH", "NO", "NC", "GL", "BL"]) assert.equal(isMember(code), undefined, code);
  });
});

describe("traits", () => {
  const subject = { ...NOTHING, ip: "81.2.69.142", prefix: "81.2.69.0/24" };
  const system = { asn: 20712, organization: "Andrews & Arnold Ltd" };
  const rows: [name: string, answer: GeolocateAnswer, withSystem: boolean, want: object][] = [
    ["without a network segment", { ...subject, network: null }, true, { network: "81.2.69.0/24" }],
    [
      "the smaller network of two, so that all of the answer holds in it",
      { ...subject, network: { prefix: "81.2.69.128/25", ...system } },
      true,
      {
        network: "81.2.69.128/25",
        autonomous_system_number: 20712,
        autonomous_system_organization: "Andrews & Arnold Ltd",
      },
    ],
    [
      "a system of a wider network",
      { ...subject, network: { prefix: "81.2.0.0/16", asn: 20712 } },
      true,
      { network: "81.2.69.0/24", autonomous_system_number: 20712 },
    ],
    [
      "Country: without the system, and so not with its network",
      { ...subject, network: { prefix: "81.2.69.128/25", ...system } },
      false,
      { network: "81.2.69.0/24" },
    ],
  ];
  for (const [name, answer, withSystem, want] of rows) {
    test(name, () =>
      assert.deepEqual(geoip2Traits(answer, withSystem), { ip_address: "81.2.69.142", ...want }),
    );
  }
});
