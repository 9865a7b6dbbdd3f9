// feeds.ts: creates the feeds of the contract test: the compiler's fixtures, and entries from a fixed seed in the same
// formats.
//
// The fixtures contain documentation addresses, which no lookup answers. The generated entries are public.

import { double, uint16, writeMmdb } from "../../packages/compiler/test/mmdb-writer.ts";
import { Random, times } from "./random.ts";

export const ipv4 = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");

/** First octets that contain no special-use networks. */
const OCTETS = [2, 5, 8, 31, 46, 62, 77, 81, 91, 109, 151, 185, 193, 212] as const;
const PLACES = [
  ["GB", "United Kingdom", "EU", "Europe", "ENG", "England", "London", 51.5074, -0.1278, "EC1A"],
  ["DE", "Germany", "EU", "Europe", "SN", "Saxony", "Falkenstein", 50.4777, 12.3649, "08223"],
  [
    "US",
    "United States",
    "NA",
    "North America",
    "CA",
    "California",
    "Mountain View",
    37.4056,
    -122.078,
    "94043",
  ],
  ["JP", "Japan", "AS", "Asia", "13", "Tokyo", "Tokyo", 35.6895, 139.6917, "100-0001"],
  ["BR", "Brazil", "SA", "South America", "SP", "São Paulo", "São Paulo", -23.5475, -46.6361, ""],
  ["XK", "Kosovo", "EU", "Europe", "", "", "Pristina", 42.6629, 21.1655, ""],
  ["AU", "Australia", "OC", "Oceania", "", "", "", -25.2744, 133.775, ""],
  ["FR", "France", "EU", "Europe", "IDF", "Île-de-France", 'L"Haÿ\\les Roses', 48.78, 2.33, "94240"],
] as const;

/** Names of autonomous systems, one for each kind. */
const NAMES = [
  "Example Telecom",
  "Example Hosting",
  "University of Example",
  '"Example Mobile Communications, Inc."',
  "City of Example",
  "Bank of Example",
  "Exämple Ltd",
] as const;

/** Networks that hand-written requests ask about. Their locations have every field. */
const KNOWN = ["81.2.64.0/20", "8.8.8.0/24", "2a01:4f8::/32"];

function network4(random: Random): string {
  const bits = random.pick([12, 16, 18, 20, 22, 24, 24, 24, 28, 30, 32]);
  const value = ((random.pick(OCTETS) << 24) | (random.uint32() >>> 8)) >>> 0;
  return `${ipv4((value & (bits === 32 ? -1 : ~(2 ** (32 - bits) - 1))) >>> 0)}/${bits}`;
}

function network6(random: Random): string {
  const top = random.pick(["2a01", "2a02", "2600", "2402", "2804"]);
  const bits = random.pick([32, 48, 64]);
  const group = () => random.below(0x10000).toString(16);
  const groups = times(bits / 16 - 1, group);
  return `${[top, ...groups].join(":")}::/${bits}`;
}

function location(random: Random, detail: number): unknown {
  const [code, country, continent, continentName, region, regionName, city, latitude, longitude, postal] =
    random.pick(PLACES);
  const names = (en: string) => ({ names: { en } });
  return {
    continent: { code: continent, ...names(continentName) },
    country: { iso_code: code, ...names(country) },
    ...(detail > 0 && {
      location: {
        latitude: double(latitude + random.below(100) / 1000),
        longitude: double(longitude - random.below(100) / 1000),
        ...(detail > 2 && {
          accuracy_radius: uint16(random.pick([1, 20, 1000])),
          time_zone: "Europe/London",
        }),
      },
    }),
    ...(detail > 1 && city !== "" && { city: names(city) }),
    ...(detail > 1 && regionName !== "" && { subdivisions: [{ iso_code: region, ...names(regionName) }] }),
    ...(detail > 2 && postal !== "" && { postal: { code: postal } }),
    ...(detail > 3 && { registered_country: { iso_code: "IE", ...names("Ireland") } }),
  };
}

const inIpv6 = (network: string) => {
  const [address, bits] = network.split("/");
  return network.includes(":") ? network : `::${address}/${Number(bits) + 96}`;
};
const firstOf = (network: string) => network.slice(0, network.indexOf("/"));

export interface ContractFeeds {
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  readonly networks: readonly string[];
  readonly domains: readonly string[];
}

/** @param fixture returns the text of a file in packages/compiler/fixtures/feeds */
export function contractFeeds(fixture: (name: string) => string): ContractFeeds {
  const random = new Random(10);
  const located = [...KNOWN, ...times(500, () => network4(random)), ...times(200, () => network6(random))];
  const cities = (share: number) =>
    writeMmdb({
      ipVersion: 6,
      recordSize: 28,
      metadata: { database_type: "City" },
      aliases: ["2002::/16"],
      networks: [...new Map(located.map((network) => [inIpv6(network), network])).keys()]
        .filter((_, index) => index < KNOWN.length || random.chance(share))
        .map((network, index) => [network, location(random, index < KNOWN.length ? 4 : random.below(5))]),
    });
  const host = (network: string) =>
    network.includes(":")
      ? `${firstOf(network)}${(1 + random.below(0xfffe)).toString(16)}`
      : firstOf(network).replace(/\d+$/, String(random.below(256)));
  const some = (family: 4 | 6) =>
    random.pick(located.filter((network) => network.includes(":") === (family === 6)));
  const hosts = (count: number, share6 = 0) => times(count, () => host(some(random.chance(share6) ? 6 : 4)));
  const narrow = (count: number, family: 4 | 6) =>
    times(count, () => some(family)).filter((network) => Number(network.split("/")[1]) >= 20);
  const tor = hosts(150);
  const vpn = [...narrow(120, 4), ...tor.slice(0, 20)];
  const abusers = [...hosts(200), ...tor.slice(10, 60), ...vpn.map(firstOf).slice(0, 30)];
  const relays = narrow(40, 4);
  const word = () => times(3, () => random.pick(["ba", "do", "mi", "ke", "lu", "zo", "xn", "ty"])).join("");
  const domains = times(
    220,
    (index) => `${word()}${index}.${random.pick(["com", "net", "co.uk", "de", "io"])}`,
  );
  const unicode = ["xn--bcher-kva.de", "xn--mnchen-3ya.com", "xn--e1afmkfd.com"];
  const lines = (name: string, more: readonly string[]) => `${fixture(name).trimEnd()}\n${more.join("\n")}\n`;
  const drop = (networks: readonly string[]) =>
    [
      ...networks.map((cidr) => ({ cidr, sblid: "SBL1", rir: "arin" })),
      { type: "metadata", timestamp: 1785585600, records: networks.length },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
  const files = {
    "tor-bulk-exits.txt": lines("tor-bulk-exits.txt", tor),
    "tor-onionoo.json": JSON.stringify({
      version: "8.0",
      relays_published: "2026-08-01 12:00:00",
      relays: hosts(60, 0.5).map((address) => ({
        or_addresses: [address.includes(":") ? `[${address}]:443` : `${address}:443`],
        exit_addresses: address.includes(":") ? [] : [address],
      })),
    }),
    "x4bnet-vpn-v4.txt": lines("x4bnet-vpn-v4.txt", vpn),
    "x4bnet-vpn-v6.txt": lines("x4bnet-vpn-v6.txt", narrow(60, 6)),
    "monosans-proxies.json": JSON.stringify(
      hosts(80).map((address) => ({ protocol: "http", host: address, port: 8080, exit_ip: address })),
    ),
    "icloud-private-relay.csv": lines(
      "icloud-private-relay.csv",
      relays.map((network) => `${network},GB,GB-ENG,London,`),
    ),
    "ipsum-3.txt": lines("ipsum-3.txt", abusers),
    "spamhaus-drop-v4.json": drop(narrow(40, 4)),
    "spamhaus-drop-v6.json": drop(narrow(40, 6)),
    "cloudflare-v4.txt": lines("cloudflare-v4.txt", narrow(30, 4)),
    "firehol-level1.netset": lines("firehol-level1.netset", narrow(30, 4)),
    "dbip-city-lite.mmdb": cities(0.9),
    "geolite2-city.mmdb": cities(0.25),
    "nro-delegated-stats.txt": lines(
      "nro-delegated-stats.txt",
      OCTETS.map(
        (octet, index) =>
          `ripencc|${index % 2 ? "DE" : "FR"}|ipv4|${octet}.0.0.0|16777216|20100101|allocated|x${index}|e-stats`,
      ),
    ),
    "asn.csv": OCTETS.map(
      (octet, index) => `${octet}.0.0.0,${octet}.255.255.255,${index + 1},${NAMES[index % NAMES.length]}\n`,
    ).join(""),
    "disposable-email-domains.txt": lines("disposable-email-domains.txt", [
      ...domains.slice(0, 90),
      ...unicode,
    ]),
    "fakefilter.txt": lines("fakefilter.txt", ["## service-four.com", ...domains.slice(60, 120)]),
    "disposable-domains.txt": lines("disposable-domains.txt", domains.slice(100, 170)),
    "free-mail.txt": lines("free-mail.txt", domains.slice(150, 200)),
    "relay-mail.txt": lines("relay-mail.txt", domains.slice(80, 95)),
    "relay-domains.csv": lines(
      "relay-domains.csv",
      domains.slice(195, 205).map((domain) => `${domain},Relay Service,https://relay.example/`),
    ),
    "ordinary-mail.csv": lines(
      "ordinary-mail.csv",
      domains.slice(0, 6).map((domain) => `${domain},Ordinary,https://mail.example/`),
    ),
    "disposable-services.csv": lines(
      "disposable-services.csv",
      domains.slice(20, 40).map((domain) => `${domain},${domains[21]},https://service.example/`),
    ),
  };
  const networks = [...located, ...[...tor, ...abusers].map((address) => `${address}/32`), ...vpn, ...relays];
  return { files, networks, domains: [...domains, ...unicode] };
}
