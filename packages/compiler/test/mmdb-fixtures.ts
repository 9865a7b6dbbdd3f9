// mmdb-fixtures.ts: small geolocation databases in the formats that publishers use, created by the test writer.
//
// The names and addresses are made up or reserved for documentation, except for networks that must be public to be
// looked up. fixtures/feeds/dbip-city-lite.mmdb is DBIP_NESTED as a file; a test compares the two.

import { double, float, uint16, writeMmdb } from "./mmdb-writer.ts";

/** Returns the eight fields of ip-location-db's flat records, in the same order and with the same empty strings. */
export function flat(city: string, country: string, state: string, latitude: number, longitude: number) {
  return {
    city,
    country_code: country,
    latitude: float(latitude),
    longitude: float(longitude),
    postcode: "",
    state1: state,
    state2: "",
    timezone: "",
  };
}

/** DB-IP City as ip-location-db packs it. This is the IPv4 file. */
export const FLAT_V4 = writeMmdb({
  ipVersion: 4,
  recordSize: 28,
  metadata: { database_type: "city ipv4", languages: [], description: {} },
  networks: [
    ["5.9.0.0/16", flat("Falkenstein", "DE", "Saxony", 50.4777, 12.3649)],
    ["8.8.8.0/24", flat("Mountain View", "US", "California", 37.422, -122.085)],
    ["8.8.8.8/32", flat("Mountain View", "US", "California", 37.4056, -122.078)],
    ["46.99.0.0/16", flat("Pristina", "XK", "Pristina", 42.6629, 21.1655)],
    ["81.2.69.0/24", flat("London", "GB", "England", 51.5074, -0.1278)],
    ["223.255.255.0/24", flat("", "AU", "", -25.2744, 133.775)],
  ],
});

/** The IPv6 file of the same database. */
export const FLAT_V6 = writeMmdb({
  ipVersion: 6,
  recordSize: 28,
  metadata: { database_type: "city ipv6", languages: [], description: {} },
  networks: [
    ["2001:4860::/32", flat("Mountain View", "US", "California", 37.4056, -122.078)],
    ["2a01:4f8::/32", flat("Falkenstein", "DE", "Saxony", 50.4777, 12.3649)],
    ["2a02:6b8::/48", flat("Moscow", "RU", "Moscow", 55.7558, 37.6173)],
    ["2a02:6b8:0:1::/64", flat("Saint Petersburg", "RU", "Saint Petersburg", 59.9343, 30.3351)],
  ],
});

const names = (en: string) => ({ names: { en } });
const country = (code: string, name: string) => ({
  geoname_id: 1,
  iso_code: code,
  is_in_european_union: false,
  ...names(name),
});

/**
 * DB-IP City Lite as DB-IP publishes it: nested, one file for both families, without radius, time zone or postal code.
 */
export const DBIP_NESTED = writeMmdb({
  ipVersion: 6,
  recordSize: 24,
  metadata: { database_type: "DBIP-City-Lite" },
  aliases: ["2002::/16"],
  networks: [
    [
      "::81.2.69.0/120",
      {
        city: names("London"),
        continent: { code: "EU", geoname_id: 6255148, ...names("Europe") },
        country: country("GB", "United Kingdom"),
        location: { latitude: double(51.5074), longitude: double(-0.1278) },
        subdivisions: [names("England")],
      },
    ],
    [
      "2a01:4f8::/32",
      {
        city: names("Falkenstein"),
        continent: { code: "EU", geoname_id: 6255148, ...names("Europe") },
        country: country("DE", "Germany"),
        location: { latitude: double(50.4777), longitude: double(12.3649) },
        subdivisions: [names("Saxony")],
      },
    ],
  ],
});

/** MaxMind's format, with all fields that Inkling reads and some that it does not. */
export const MAXMIND_NESTED = writeMmdb({
  ipVersion: 6,
  recordSize: 28,
  metadata: { database_type: "GeoLite2-City" },
  aliases: ["2002::/16", "2001::/32"],
  networks: [
    [
      "::2.125.160.216/125",
      {
        city: { geoname_id: 2655045, names: { en: "Boxford", ru: "Боксфорд" } },
        continent: { code: "EU", geoname_id: 6255148, names: { en: "Europe", de: "Europa" } },
        country: country("GB", "United Kingdom"),
        location: {
          accuracy_radius: uint16(100),
          latitude: double(51.75),
          longitude: double(-1.25),
          time_zone: "Europe/London",
        },
        postal: { code: "OX1" },
        registered_country: country("FR", "France"),
        represented_country: { ...country("US", "United States"), type: "military" },
        subdivisions: [
          { geoname_id: 6269131, iso_code: "ENG", ...names("England") },
          { geoname_id: 3333217, iso_code: "WBK", ...names("West Berkshire") },
        ],
        traits: { is_anonymous_proxy: true },
      },
    ],
    ["2a02:d000::/21", { country: country("ZZ", "Unknown"), registered_country: country("XK", "Kosovo") }],
  ],
});

/** ip-location-db's country databases. */
export const COUNTRY_V4 = writeMmdb({
  ipVersion: 4,
  recordSize: 24,
  metadata: { database_type: "country ipv4", languages: [], description: {} },
  networks: [
    ["5.9.0.0/16", { country_code: "DE" }],
    ["8.8.8.0/24", { country_code: "US" }],
    ["46.99.0.0/16", { country_code: "XK" }],
    ["81.2.69.0/24", { country_code: "GB" }],
    ["91.0.0.0/10", { country_code: "DE" }],
    ["100.0.0.0/10", { country_code: "ZZ" }],
  ],
});
