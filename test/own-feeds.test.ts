// The operator's own feeds, from a publisher on this machine to answers: every form with every claim, by the code of
// built-in feeds.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FEED_CLAIMS, type OwnFeed } from "@inkling/contract";
import { INCLUDE, type Lookup } from "@inkling/engine";
import { feedsOf, openServable } from "@inkling/release-store";
import { answer } from "../packages/cli/src/runtime/answer.ts";
import type { Feed } from "../packages/compiler/src/catalog/feed.ts";
import { FEEDS } from "../packages/compiler/src/catalog/feeds.ts";
import { build } from "../packages/compiler/src/pipeline/build.ts";
import type { BuildRequest } from "../packages/compiler/src/pipeline/events.ts";
import { writeMmdb } from "../packages/compiler/test/mmdb-writer.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const FIXTURES = resolve(import.meta.dir, "../packages/compiler/fixtures/feeds");
const temp = temporaryFolder();
const SECRET = "Bearer hush-hush-4711";

/** What the publisher has, by path. */
const files = new Map<string, string | Uint8Array>();
const requests: { readonly path: string; readonly header: string | null }[] = [];
let isAway = false;
let base: string;
let server: ReturnType<typeof Bun.serve>;
beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      requests.push({ path: pathname, header: request.headers.get("x-key") });
      if (isAway) return new Response("oops", { status: 503 });
      if (pathname === "/locked" && request.headers.get("x-key") !== SECRET)
        return new Response(null, { status: 401 });
      const body = files.get(pathname.slice(1));
      return body === undefined ? new Response(null, { status: 404 }) : new Response(body);
    },
  });
  base = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.stop(true));

const BUILT_IN = [
  ["ipsum-3", "45.66.103.7\n81.2.69.3\n"],
  ["disposable-email-domains", "drop.test-corp.com\n"],
  ["asn", readFileSync(join(FIXTURES, "asn.csv"))],
  ["dbip-city-lite", readFileSync(join(FIXTURES, "dbip-city-lite.mmdb"))],
  ["aws-geofeed", "81.2.69.80/28,IE,IE-L,Dublin,\n"],
] as const;
function builtIn(): readonly Feed[] {
  return BUILT_IN.map(([id, body]) => {
    files.set(id, body);
    const { seed: _, ...row } = FEEDS.find((feed) => feed.id === id)!;
    const own = { urls: () => [`${base}/${id}`], entries: { least: 1, most: 1_000 } };
    return { ...row, ...own, ...(id === "asn" && { format: "asn-csv" as const }) };
  });
}

let folders = 0;
const folder = () => join(temp, String(folders++));
const DAY = 86_400_000;

async function run(
  dataDir: string,
  ownFeeds: readonly OwnFeed[],
  days = 0,
  more: Partial<BuildRequest> = {},
) {
  const request = { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {}, ownFeeds, ...more };
  const effects = { now: () => new Date(Date.now() + days * DAY), emit: () => {}, chance: () => 0.5 };
  const made = await build(request, { ...effects, feeds: builtIn() });
  const feeds = feedsOf(dataDir, { name: made.name, manifest: made.release });
  return { ...made, reportOf: (id: string) => feeds.find((feed) => feed.id === id) };
}
const lookUp = (dataDir: string, lookup: Lookup, value: string) =>
  JSON.parse(answer(openServable(dataDir), lookup, value, undefined, 0, INCLUDE.evidence | INCLUDE.network));

const city = (name: string, code: string) => ({
  city: { names: { en: name } },
  country: { iso_code: code, names: { en: code } },
});
const mmdb = (network: string, record: object) =>
  writeMmdb({ ipVersion: 6, recordSize: 24, networks: [[network, record]] as never });

type Row = readonly [
  form: OwnFeed["form"],
  claims: OwnFeed["claims"],
  body: string | Uint8Array,
  lookup: Lookup,
  value: string,
  answer: object,
  entry: object,
  more?: Partial<OwnFeed>,
];
const flags = (flag: string) => ({ effect: "sets", flags: [flag] });
const fills = (...members: string[]) => ({ effect: "fills", members });
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
const idOf = ([form, claims]: Row) => `my-${form}-${claims.replaceAll("_", "-")}`;
const ownOf = (row: Row): OwnFeed => {
  const [form, claims, body, , , , , more = {}] = row;
  const id = idOf(row);
  files.set(id, body);
  return { id, form, claims, url: `${base}/${id}`, ...more };
};

describe("each form and claim", () => {
  const dataDir = folder();
  let made: Awaited<ReturnType<typeof run>>;
  beforeAll(async () => {
    made = await run(dataDir, ROWS.map(ownOf));
  });

  test("is here", () => expect(new Set(ROWS.map(([, claim]) => claim))).toEqual(new Set(FEED_CLAIMS)));
  test("nothing is refused, and provenance is in the release", () => {
    expect([made.refused, made.unreached, made.missing]).toEqual([[], [], []]);
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
  files.set("mine", "81.2.69.80/29,FR,FR-IDF,Paris,\n");
  const [without, with_] = [folder(), folder()];
  await run(without, []);
  await run(with_, [{ id: "mine", form: "geofeed", claims: "place", url: `${base}/mine` }]);
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
  files.set("weak", "91.2.0.1\n");
  files.set("second", "91.2.0.1\n");
  const weak = { form: "networks", claims: "vpn", weight: 1 } as const;
  const own = (second: Partial<OwnFeed>): OwnFeed[] => [
    { ...weak, id: "weak", url: `${base}/weak` },
    { ...weak, id: "second", url: `${base}/second`, ...second },
  ];
  const dataDir = folder();
  const isProxy = () => lookUp(dataDir, "reputation", "91.2.0.1").is_proxy;
  const ids = new Set<string>();
  for (const [second, flagged] of [
    [{ copies: ["weak"] }, false],
    [{}, true],
    [{ copies: ["weak"], weight: 2 }, true],
  ] as const) {
    // The same bytes: what the row says of them is a part of the release.
    ids.add((await run(dataDir, own(second))).release.id);
    expect([second, isProxy()]).toEqual([second, flagged]);
  }
  expect(ids.size).toBe(3);
});

describe("bad copies", () => {
  const LIST = Array.from({ length: 300 }, (_, i) => `91.3.${i >> 8}.${i & 255}\n`).join("");
  const rows: readonly (readonly [name: string, body: string, problem: RegExp, more?: Partial<OwnFeed>])[] = [
    [
      "an error page",
      "not found\nplease log in\n",
      /publisher: 2 of 2 lines cannot be used; the first is line 1: is not an address or a network/,
    ],
    ["empty", "", /publisher: is empty/],
    [
      "too wide for its flag",
      "91.0.0.0/8\n",
      /has a network of \/8 \(IPv4\): \/11 is the widest it can hold/,
    ],
    [
      "a third of it",
      LIST.slice(0, LIST.length / 3),
      /differs too much from the last good copy|is cut short/,
    ],
  ];
  test.each(rows)("%s: refused by name, and the last good copy answers", async (_name, body, problem) => {
    const dataDir = folder();
    const own: OwnFeed = { id: "bad", form: "networks", claims: "attacker", url: `${base}/bad` };
    files.set("bad", LIST);
    await run(dataDir, [own]);
    files.set("bad", body);
    const made = await run(dataDir, [own], 1);
    expect(made.refused).toEqual(["bad"]);
    expect(made.reportOf("bad")).toMatchObject({
      state: "loaded",
      source: "last-good",
      entries: 300,
      error: expect.stringMatching(problem),
    });
    expect(lookUp(dataDir, "reputation", "91.3.0.9").is_abuser).toBe(true);
  });

  test("a few wrong lines are left out, and the first is named", async () => {
    files.set("odd", `${LIST}91.3.9.1-91.3.8.1\n`);
    const made = await run(folder(), [
      { id: "odd", form: "networks", claims: "attacker", url: `${base}/odd` },
    ]);
    expect(made.reportOf("odd")!.skipped).toEqual({
      entries: 1,
      first: "line 301: is not a range of addresses",
    });
  });

  test("a path that leads to nothing, and a definition that does not fit the kept copy", async () => {
    const dataDir = folder();
    const own: OwnFeed = { id: "doc", form: "json", claims: "vpn", path: "$.a[*]", url: `${base}/doc` };
    files.set("doc", '{"a":["91.3.0.1"]}');
    await run(dataDir, [own]);
    files.set("doc", '{"b":["91.3.0.1"]}');
    const nothing = await run(dataDir, [own], 1);
    expect(nothing.reportOf("doc")!.error).toContain("publisher: has nothing at $.a[*]");
    const { path: _, ...rest } = own;
    const other = await run(dataDir, [{ ...rest, form: "networks" }], 2);
    expect(other.reportOf("doc")).toMatchObject({
      state: "refused",
      error: expect.stringContaining("the kept copy has the format json-networks"),
    });
  });

  test("an age limit: what the publisher does not renew is dropped", async () => {
    const dataDir = folder();
    files.set("old", "91.3.0.1\n");
    const own: OwnFeed = { id: "old", form: "networks", claims: "vpn", max_age_days: 3, url: `${base}/old` };
    await run(dataDir, [own]);
    isAway = true;
    try {
      expect((await run(dataDir, [own], 2)).reportOf("old")).toMatchObject({ state: "loaded", stale: true });
      expect((await run(dataDir, [own], 4)).reportOf("old")!.state).toBe("expired");
    } finally {
      isAway = false;
    }
  });
});

describe("a header with a secret", () => {
  const own = (): OwnFeed => ({
    id: "locked",
    form: "networks",
    claims: "attacker",
    url: `${base}/locked?token=in-the-query`,
    header: "X-Key",
    secret: "acme",
  });
  const rows = [
    ["set", { feed_secret_acme: SECRET }, "loaded", undefined],
    [
      "wrong",
      { feed_secret_acme: "Bearer wrong-key" },
      "refused",
      /\/locked answered 401 Unauthorized: check INKLING_FEED_SECRET_ACME$/,
    ],
    ["not set", {}, "missing", /needs INKLING_FEED_SECRET_ACME/],
  ] as const;
  test.each(rows)("%s", async (_name, credentials, state, error) => {
    files.set("locked", "91.4.0.1\n");
    requests.length = 0;
    const made = await run(folder(), [own()], 0, { credentials });
    expect(made.reportOf("locked")!.state).toBe(state);
    if (error) expect(made.reportOf("locked")!.error).toMatch(error);
    const sent = requests.filter(({ header }) => header !== null).map(({ path }) => path);
    expect(sent).toEqual(state === "missing" ? [] : ["/locked"]); // and no other publisher
    expect(JSON.stringify(made)).not.toMatch(/hush|wrong-key|in-the-query/);
  });
});

test("an unreachable publisher, and a file that is gone, leave the last good copy", async () => {
  const dataDir = folder();
  const file = join(temp, "office.txt");
  writeFileSync(file, "91.5.0.1\n");
  files.set("away", "91.5.0.2\n");
  const own: OwnFeed[] = [
    { id: "office", form: "networks", claims: "vpn", file },
    { id: "away", form: "networks", claims: "vpn", url: `${base}/away` },
  ];
  expect((await run(dataDir, own)).reportOf("office")).toMatchObject({ source: "mirror", state: "loaded" });
  writeFileSync(file, "");
  const moved = { ...own[0]!, file: join(temp, "elsewhere.txt") };
  const dead: OwnFeed = { ...own[1]!, url: "http://127.0.0.1:1/away" };
  const made = await run(dataDir, [moved, dead], 1);
  expect([made.refused, made.unreached]).toEqual([["office"], ["away"]]);
  expect(made.reportOf("office")!.error).toBe("file: elsewhere.txt does not exist");
  expect(made.reportOf("away")!.error).toContain("could not be reached: connection refused");
  for (const ip of ["91.5.0.1", "91.5.0.2"]) expect(lookUp(dataDir, "reputation", ip).is_proxy).toBe(true);
});
