// Tests the operator's own feeds, from a publisher on this machine to answers: every format with every claim, through
// the code of built-in feeds.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FEED_CLAIMS, type OwnFeed } from "@inkling/contract";
import type { Lookup } from "@inkling/engine";
import { writeMmdb } from "../../../packages/compiler/test/mmdb-writer.ts";
import { lookUp, OwnFeedHost } from "../../harness/own-feed-host.ts";

const host = new OwnFeedHost();
afterAll(() => host.stop());

const city = (name: string, code: string) => ({
  city: { names: { en: name } },
  country: { iso_code: code, names: { en: code } },
});
const mmdb = (network: string, record: object) =>
  writeMmdb({ ipVersion: 6, recordSize: 24, networks: [[network, record]] as never });

type Row = readonly [
  format: OwnFeed["format"],
  claims: OwnFeed["claims"],
  body: string | Uint8Array,
  lookup: Lookup,
  value: string,
  answer: object,
  entry: object,
  more?: Partial<OwnFeed>,
];
const flags = (flag: string) => ({ effect: "sets", flags: [flag] });
const fills = (...fields: string[]) => ({ effect: "fills", fields });
const service = (name: string) => ({ services: [name], operator: "acme" });
const acme = { operator: "acme" };
const ROWS: readonly Row[] = [
  [
    "networks",
    "attacker",
    "# mine\n91.1.0.1 ; seen\n",
    "reputation",
    "91.1.0.1",
    { is_abuser: true },
    flags("is_abuser"),
  ],
  [
    "networks",
    "criminal_network",
    "91.1.1.0/24\n",
    "reputation",
    "91.1.1.9",
    { is_abuser: true },
    flags("is_abuser"),
  ],
  [
    "networks",
    "botnet_c2",
    "91.1.2.7-91.1.2.9\n",
    "reputation",
    "91.1.2.8",
    { is_abuser: true },
    flags("is_abuser"),
  ],
  ["networks", "vpn", "2a0e:1::/48\n", "reputation", "2a0e:1::9", { is_proxy: true }, flags("is_proxy")],
  [
    "json",
    "public_proxy",
    '{"items":[{"ip":"91.1.3.1"},{"ip":"91.1.3.2-91.1.3.3"}]}',
    "reputation",
    "91.1.3.3",
    { is_proxy: true },
    flags("is_proxy"),
    { path: "$.items[*].ip" },
  ],
  [
    "json",
    "tor_exit",
    '["91.1.4.1"]',
    "reputation",
    "91.1.4.1",
    { is_tor_exit: true },
    flags("is_tor_exit"),
    { path: "$[*]" },
  ],
  [
    "networks",
    "hosting",
    "91.1.5.0/24\n",
    "reputation",
    "91.1.5.1",
    { network: { kind: "hosting" } },
    fills("network.kind"),
  ],
  [
    "networks",
    "isp",
    "81.2.69.16/28\n",
    "reputation",
    "81.2.69.17",
    { network: { kind: "isp", asn: 20712 } },
    fills("network.kind"),
  ],
  [
    "networks",
    "mobile",
    "91.1.6.0/24\n",
    "reputation",
    "91.1.6.1",
    { network: { kind: "mobile" } },
    fills("network.kind"),
  ],
  [
    "networks",
    "education",
    "91.1.7.0/24\n",
    "reputation",
    "91.1.7.1",
    { network: { kind: "education" } },
    fills("network.kind"),
  ],
  [
    "networks",
    "government",
    "91.1.8.0/24\n",
    "reputation",
    "91.1.8.1",
    { network: { kind: "government" } },
    fills("network.kind"),
  ],
  [
    "json",
    "business",
    '{"a b":{"x":["18.32.1.0/24"]}}',
    "reputation",
    "18.32.1.1",
    { network: { kind: "business" } },
    fills("network.kind"),
    { path: "$['a b'].*[*]" },
  ],
  [
    "networks",
    "crawler",
    "81.2.69.3\n",
    "reputation",
    "81.2.69.3",
    { is_abuser: false, network: service("crawler") },
    { effect: "removes", flags: ["is_abuser"] },
    acme,
  ],
  [
    "networks",
    "monitor",
    "91.1.10.1\n",
    "reputation",
    "91.1.10.1",
    { network: service("monitor") },
    fills("network.services", "network.operator"),
    acme,
  ],
  [
    "networks",
    "webhook_sender",
    "91.1.11.1\n",
    "reputation",
    "91.1.11.1",
    { network: service("webhook_sender") },
    fills("network.services", "network.operator"),
    acme,
  ],
  [
    "networks",
    "mail_sender",
    "91.1.12.1\n",
    "reputation",
    "91.1.12.1",
    { network: service("mail_sender") },
    fills("network.services", "network.operator"),
    acme,
  ],
  [
    "networks",
    "relay",
    "91.1.13.0/24\n",
    "reputation",
    "91.1.13.1",
    { network: { services: ["relay"], shared: true } },
    fills("network.shared", "network.services"),
  ],
  [
    "networks",
    "gateway",
    "91.1.40.0/24\n",
    "reputation",
    "91.1.40.1",
    { network: { ...service("gateway"), shared: true } },
    fills("network.shared", "network.services", "network.operator"),
    acme,
  ],
  [
    "domains",
    "disposable",
    "mailbin.test-corp.com # new\n",
    "email",
    "a@mailbin.test-corp.com",
    { disposable: true },
    flags("disposable"),
  ],
  [
    "json",
    "free_mail",
    '{"domains":["drop.test-corp.com"]}',
    "email",
    "a@drop.test-corp.com",
    { disposable: false },
    { effect: "removes", weight: 2 },
    { path: "$.domains[*]" },
  ],
  [
    "domains",
    "mail_relay",
    "alias.test-corp.com\n",
    "email",
    "a@alias.test-corp.com",
    { disposable: false },
    { label: "relay" },
  ],
  [
    "geofeed",
    "place",
    "81.2.69.64/27,FR,FR-IDF,Paris,\n",
    "geolocate",
    "81.2.69.81",
    { city: { name: "Paris" }, country: { iso_code: "FR" } },
    { label: "location", effect: "sets" },
  ],
  [
    "mmdb",
    "place",
    mmdb("::91.1.14.0/120", city("Oslo", "NO")),
    "geolocate",
    "91.1.14.9",
    { city: { name: "Oslo" } },
    { label: "location", effect: "sets" },
  ],
  [
    "mmdb",
    "anonymity",
    mmdb("::91.1.15.0/120", { is_public_proxy: true }),
    "reputation",
    "91.1.15.9",
    { is_proxy: true },
    { label: "public_proxy", ...flags("is_proxy") },
    { max_age_days: 3650 },
  ],
];
const idOf = ([format, claims]: Row) => `my-${format}-${claims.replaceAll("_", "-")}`;
const ownOf = (row: Row): OwnFeed => {
  const [format, claims, body, , , , , more = {}] = row;
  const id = idOf(row);
  host.files.set(id, body);
  return { id, format, claims, url: host.url(id), ...more };
};

describe("each format and claim", () => {
  const dataDir = host.folder();
  let made: Awaited<ReturnType<typeof host.build>>;
  beforeAll(async () => {
    made = await host.build(dataDir, ROWS.map(ownOf));
  });

  test("is here", () => expect(new Set(ROWS.map(([, claim]) => claim))).toEqual(new Set(FEED_CLAIMS)));
  test("nothing is held, and provenance is in the release", () => {
    expect([made.held, made.failed, made.unreached, made.missing]).toEqual([[], [], [], []]);
    for (const row of ROWS)
      expect(made.reportOf(idOf(row))).toMatchObject({
        state: "loaded",
        source: "fetched",
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        licence: "not stated: added by the operator",
      });
  });
  test.each(ROWS.map((row) => [`${row[0]} ${row[1]}`, row] as const))(
    "%s: answers, and evidence names the feed",
    (_name, row) => {
      const [, , , lookup, value, want, entry] = row;
      const found = lookUp(dataDir, lookup, value);
      expect(found).toMatchObject(want);
      expect(found.evidence).toContainEqual(expect.objectContaining({ feed: idOf(row), ...entry }));
    },
  );
});

test("an own geofeed comes before the operators' geofeeds that are built in, and before every database", async () => {
  host.files.set("mine", "81.2.69.80/29,FR,FR-IDF,Paris,\n");
  const [without, with_] = [host.folder(), host.folder()];
  await host.build(without, []);
  await host.build(with_, [{ id: "mine", format: "geofeed", claims: "place", url: host.url("mine") }]);
  const cityOf = (dataDir: string, ip: string) => lookUp(dataDir, "geolocate", ip).city.name;
  expect(
    ["81.2.69.81", "81.2.69.90", "81.2.69.1"].map((ip) => [cityOf(without, ip), cityOf(with_, ip)]),
  ).toEqual([
    ["Dublin", "Paris"],
    ["Dublin", "Dublin"],
    ["London", "London"],
  ]);
});

test("weights and copies: a list of weight 1 needs another, and a copy is none", async () => {
  host.files.set("weak", "91.2.0.1\n");
  host.files.set("second", "91.2.0.1\n");
  const weak = { format: "networks", claims: "vpn", weight: 1 } as const;
  const own = (second: Partial<OwnFeed>): OwnFeed[] => [
    { ...weak, id: "weak", url: host.url("weak") },
    { ...weak, id: "second", url: host.url("second"), ...second },
  ];
  const dataDir = host.folder();
  const isProxy = () => lookUp(dataDir, "reputation", "91.2.0.1").is_proxy;
  const ids = new Set<string>();
  for (const [second, flagged] of [
    [{ copies: ["weak"] }, false],
    [{}, true],
    [{ copies: ["weak"], weight: 2 }, true],
  ] as const) {
    // The bytes are the same, but the feed's row is part of the release.
    ids.add((await host.build(dataDir, own(second))).release.id);
    expect([second, isProxy()]).toEqual([second, flagged]);
  }
  expect(ids.size).toBe(3);
});
