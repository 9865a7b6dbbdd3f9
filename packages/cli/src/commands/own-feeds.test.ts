// Tests `inkling feeds add | check | remove`, and that an added feed's entries reach the answers after a build.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FEEDS } from "../../../compiler/src/catalog/feeds.ts";
import type { FeedCheck } from "../../../compiler/src/pipeline/load.ts";
import { runHere } from "../program.testing.ts";
import { problemsOf } from "./feed-check.ts";

const temp = mkdtempSync(join(tmpdir(), "inkling-own-feeds-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));
const SECRET = "hush-hush-4711";

let server: ReturnType<typeof Bun.serve>;
let body = "";
beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) =>
      request.headers.get("x-key") === SECRET ? new Response(body) : new Response(null, { status: 401 }),
  });
});
afterAll(() => server.stop(true));

let folders = 0;
/**
 * Returns a host on which all built-in feeds except Inkling's own lists are off, so a test fetches only its own feeds.
 */
function host(toml = "") {
  const cwd = join(temp, String(folders++));
  const dataDir = join(cwd, "data");
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(cwd, "inkling.toml"), toml);
  const isRemote = ({ urls, seed }: (typeof FEEDS)[number]) =>
    urls(new Date()).length > 0 || seed !== undefined;
  const disabled = FEEDS.filter(isRemote).map(({ id }) => id);
  writeFileSync(join(dataDir, "feeds.json"), JSON.stringify({ enabled: [], disabled }));
  const printed: string[] = [];
  const inkling = async (line: string, env: Record<string, string> = {}) => {
    const ran = await runHere(line.split(" "), { cwd, env });
    printed.push(ran.out, ran.err);
    return ran;
  };
  const choice = () => JSON.parse(readFileSync(join(dataDir, "feeds.json"), "utf8"));
  return { cwd, dataDir, inkling, choice, printed };
}

test("a feed of the command line and one of inkling.toml: added, built, looked up, removed", async () => {
  const { cwd, dataDir, inkling, choice, printed } = host(
    '[[feed]]\nid = "office"\nformat = "networks"\nclaims = "vpn"\nfile = "office.txt"\n',
  );
  writeFileSync(join(cwd, "office.txt"), "91.9.0.0/24\n");
  body = "91.9.1.1\n91.9.1.2\n";
  const env = { INKLING_FEED_SECRET_ACME: SECRET };
  const url = `http://127.0.0.1:${server.port}/list?token=in-the-query`;
  const line = `feeds add acme --url ${url} --format networks --claims attacker --header X-Key --max-age-days 9`;
  expect(await inkling(line, env)).toMatchObject({
    out: "acme: 2 networks\nacme is added. A running server applies this automatically; otherwise run `inkling data update`.\n",
    code: 0,
  });
  expect(choice().added).toEqual([
    { id: "acme", format: "networks", claims: "attacker", url, header: "X-Key", max_age_days: 9 },
  ]);

  const updated = await inkling("data update --json", env);
  expect(JSON.parse(updated.out)).toMatchObject({ held: [], failed: [], unreached: [], missing: [] });
  const { peak_bytes, next_due, peakBytes, nextDue } = JSON.parse(updated.out);
  expect([typeof peak_bytes, typeof next_due, peakBytes, nextDue]).toEqual([
    "number",
    "string",
    undefined,
    undefined,
  ]);
  const { ages, oldest_seconds } = JSON.parse((await inkling("data status --json")).out);
  expect(typeof ages.is_abuser).toBe("number");
  expect(oldest_seconds).toBe(Math.max(...(Object.values(ages) as number[])));
  const found = async (ip: string) =>
    JSON.parse((await inkling(`lookup reputation ${ip} --json --evidence`)).out);
  expect(await found("91.9.1.2")).toMatchObject({
    is_abuser: true,
    evidence: [
      { feed: "acme", label: "attacker", effect: "sets", flags: ["is_abuser"], network: "91.9.1.2/32" },
    ],
  });
  expect((await found("91.9.0.7")).evidence).toMatchObject([{ feed: "office", label: "vpn" }]);
  const { out: status } = await inkling("data status");
  expect(status).toMatch(/^acme +is_abuser +loaded +2 +fetched/m);
  expect(status).toMatch(/^office +is_proxy +loaded +\d+ +file /m);
  expect((await inkling("feeds list")).out).toMatch(/^on +office +is_proxy +loaded .*your own$/m);
  expect((await inkling("feeds list")).out).toMatch(/^on +acme .*your own; needs INKLING_FEED_SECRET_ACME$/m);
  expect((await inkling("config")).out).toMatch(/^feed \(inkling\.toml\) +office /m);

  // As with built-in feeds: disabling and enabling a feed, and a held copy that is reported by name.
  expect((await inkling("feeds disable office")).code).toBe(0);
  body = "<html>";
  const bad = await inkling("data update --json", env);
  expect([bad.code, JSON.parse(bad.out).held]).toEqual([3, ["acme"]]);
  expect(await found("91.9.1.2")).toMatchObject({ is_abuser: true });
  expect(await found("91.9.0.7")).toMatchObject({ is_proxy: false });

  expect((await inkling("feeds remove acme")).out).toStartWith("acme is removed. ");
  expect(choice().added).toBeUndefined();
  expect(readdirSync(join(dataDir, "feeds"))).not.toContain("acme");
  const trail = JSON.parse((await inkling("audit --json")).out);
  expect(JSON.stringify(trail)).toMatch(/"feed-removed".*"feed-added"/);
  printed.push(JSON.stringify(trail), readFileSync(join(dataDir, "feeds", "report.json"), "utf8"));
  expect(printed.join("\n")).not.toContain(SECRET);
  expect(printed.join("\n")).not.toContain("in-the-query");
}, 120_000);

describe("what is refused, and changes nothing", () => {
  const network = "--format networks --claims vpn";
  test.each<[string, string, number, RegExp]>([
    [
      "every flag at fault",
      "add acme --format list --weight heavy --file x",
      2,
      /^inkling: Cannot add this feed:\n {2}feed "acme": format must be one of networks, .*: it is "list"\n {2}feed "acme": claims must be one of [^\n]*\n {2}feed "acme": weight must be a whole number from 1 to 8: it is "heavy"\nhint: /,
    ],
    [
      "the id of a built-in feed",
      `add ipsum-3 ${network} --file x`,
      2,
      /feed "ipsum-3": id must not be the id of another feed/,
    ],
    [
      "a copied feed that there is none of",
      `add acme ${network} --file x --copies ipsum-4`,
      2,
      /feed "acme": copies must be ids of other feeds: there is no other feed "ipsum-4"; did you mean ipsum-3\?/,
    ],
    [
      "a file that is not there",
      `add acme ${network} --file x`,
      1,
      /acme cannot be used: file: x does not exist\nhint: /,
    ],
    [
      "a file with a wrong line",
      `add acme ${network} --file wrong.txt`,
      1,
      /acme cannot be used: file: has unusable entries, 1 of 2; the first is line 2: is not an address or a network/,
    ],
    [
      "to remove what is built in",
      "remove ipsum-3",
      1,
      /ipsum-3 comes with Inkling\nhint: .*feeds disable ipsum-3/,
    ],
    [
      "to remove what is in inkling.toml",
      "remove mine",
      1,
      /mine is configured in .*inkling\.toml\nhint: remove its \[\[feed\]\] there/,
    ],
    [
      "to read what has a budget",
      "check abuseipdb",
      1,
      /abuseipdb cannot be checked outside a build: .* 5 downloads a day/,
    ],
    ["to remove what is not there", "remove nonsense", 2, /there is no feed "nonsense"/],
  ])("%s", async (_name, line, code, err) => {
    const { cwd, inkling, choice } = host(
      '[[feed]]\nid = "mine"\nformat = "networks"\nclaims = "vpn"\nfile = "mine.txt"\n',
    );
    writeFileSync(join(cwd, "wrong.txt"), "91.9.0.1\nnonsense\n");
    const before = choice();
    const ran = await inkling(`feeds ${line}`);
    expect(ran.err).toMatch(err);
    expect(ran.code).toBe(code);
    expect(choice()).toEqual(before);
  });
});

test.each([
  ["ipsum-3", "", /^ {2}line 2 of .*inkling\.toml: feed "ipsum-3": id must not be the id of another feed$/m],
  [
    "mine",
    'copies = ["ipsum-3", "nope"]\n',
    /^ {2}line 6 of .*: feed "mine": copies must be .*: there is no other feed "nope"$/m,
  ],
])("a [[feed]] %s that does not fit the other feeds: the line, with each command", async (id, more, err) => {
  const { inkling } = host(
    `[[feed]]\nid = "${id}"\nformat = "networks"\nclaims = "vpn"\nfile = "x"\n${more}`,
  );
  const ran = await inkling("data status");
  expect(ran.err).toMatch(err);
  expect(ran.code).toBe(2);
});

test("check reads a feed and changes nothing; --no-check adds one that is not there yet", async () => {
  const { cwd, dataDir, inkling } = host();
  await inkling("feeds add later --format domains --claims disposable --file later.txt --no-check");
  expect((await inkling("feeds check later")).err).toContain(
    "later cannot be used: file: later.txt does not exist",
  );
  writeFileSync(
    join(cwd, "later.txt"),
    `${"a.com b.com c.com d.com e.com f.com g.com h.com i.com j.com k.com".replaceAll(" ", "\n")}\n.nonsense\n`,
  );
  expect((await inkling("feeds check later")).out).toBe(
    "later: 11 domains; skipped 1, the first: line 12: is not a domain\n",
  );
  expect(existsSync(join(dataDir, "feeds"))).toBe(false);
});

describe("feeds check --all", () => {
  test("shows the age, the cadence and what is wrong with each enabled feed, the wrong ones first", async () => {
    const { cwd, inkling } = host();
    writeFileSync(join(cwd, "good.txt"), "a.com\nb.com\n");
    await inkling("feeds add good --format domains --claims disposable --file good.txt");
    await inkling("feeds add away --format domains --claims disposable --file away.txt --no-check");
    const ran = await inkling("feeds check --all");
    expect(ran.code).toBe(3);
    const lines = ran.out.split("\n");
    expect(lines[0]).toMatch(/^FEED +DATA FROM +EVERY +ENTRIES +LICENCE +REMARK$/);
    expect(lines[1]).toMatch(/^away +! .* away\.txt does not exist/);
    expect(lines.find((line) => line.startsWith("good"))).toMatch(/^good +ok +\d{4}-\d\d-\d\d +1 day +2 /);
    expect(ran.out).toMatch(
      /\n1 of \d+ feeds needs attention, marked with "!"\. Fix what REMARK shows, or turn a feed off with `inkling feeds disable FEED`\.\n$/,
    );
    const json: { id: string; problems: string[] }[] = JSON.parse(
      (await inkling("feeds check --all --json")).out,
    );
    expect(json.filter(({ problems }) => problems.length > 0).map(({ id }) => id)).toEqual(["away"]);
  });

  test.each(["feeds check", "feeds check good --all"])("%s is a wrong use", async (line) => {
    const { inkling } = host();
    expect(await inkling(line)).toMatchObject({
      code: 2,
      err: expect.stringContaining("either a feed or --all"),
    });
  });

  const FEED = FEEDS.find(({ id }) => id === "asn")!;
  const NOW = Date.parse("2026-06-20T00:00:00Z");
  const report = (over: Partial<FeedCheck>): FeedCheck => ({
    ...{ id: "asn", sets: "network", source: "fetched", state: "loaded", entries: 1, licence: FEED.licence },
    ...over,
  });
  test.each<[string, FeedCheck | undefined, number, string[]]>([
    ["as promised", report({}), NOW, []],
    ["not read, because of its budget", undefined, NOW, []],
    ["old", report({ stale: true }), NOW, [expect.stringMatching(/^older than \d+ days$/)]],
    ["moved", report({ moved_to: "https://new.example/a" }), NOW, ["moved to https://new.example/a"]],
    [
      "another licence",
      report({ changed_licence: "none" }),
      NOW,
      ["its seed @ip-location-db/asn states the licence none"],
    ],
    ["nothing there", report({ state: "missing" }), NOW, ["no copy was found"]],
    ["unreachable", report({ error: "host not found" }), NOW, ["host not found"]],
    [
      "a seed that nobody renews",
      report({}),
      Date.parse("2029-01-01"),
      [
        "its seed @ip-location-db/asn is from 2026-06-17; `inkling data update` fetches https://github.com/sapics/ip-location-db/releases/download/latest/origin-asn.mmdb",
      ],
    ],
  ])("%s", (_, found, now, problems) => {
    expect(problemsOf(FEED, found, now)).toEqual(problems);
  });
});

test("a domain that is never flagged: its line and name, even if an earlier name sorts first", async () => {
  const { cwd, inkling } = host();
  writeFileSync(join(cwd, "bad.txt"), "# ours\nmailinator.com\nmailinator.com\nedu.pl\nco.uk\n");
  const ran = await inkling("feeds add bad --file bad.txt --format domains --claims disposable");
  expect(ran.out).toMatch(
    /^bad: 3 domains, of which Inkling uses 1; skipped 2, the first: line 4: edu\.pl is a public suffix: never flagged\n/,
  );
});

describe("a geofeed with mistakes", () => {
  const GOOD = "91.9.0.0/24,DE,DE-BY,Munich,\n91.9.1.0/24,UK,,London,\n91.9.2.0/24,PR,US-PR,San Juan,\n";
  const TERRITORY = "91.9.3.0/24,GP,FR-971,Pointe-à-Pitre,\n91.9.4.0/24,,,,\n";
  test.each([
    ["no country", "91.9.5.0/24,XX,,Paris,", "the country XX is not in ISO 3166-1"],
    [
      "a region of another country",
      "91.9.5.0/24,FR,DE-BY,Munich,",
      "the region DE-BY is not in the country FR",
    ],
    ["a special-use network", "10.9.0.0/16,FR,,Paris,", "10.9.0.0/16 is private: never located"],
  ])("%s: skipped, with its line and the reason", async (_name, line, reason) => {
    const { cwd, inkling } = host();
    writeFileSync(join(cwd, "geo.csv"), `# ours\n${GOOD}${line}\n${TERRITORY}9.0.0.0/16,ZZ,,,\n`);
    const ran = await inkling("feeds add geo --file geo.csv --format geofeed --claims place");
    expect(ran.out).toStartWith(
      `geo: 7 networks, of which Inkling uses 5; skipped 2, the first: line 5: ${reason}\n`,
    );
    expect(JSON.parse((await inkling("feeds check geo --json")).out)).toMatchObject({
      entries: 7,
      usable: 5,
    });
  });

  test("a country by name is not readable, and with too many such lines the feed is refused", async () => {
    const { cwd, inkling } = host();
    writeFileSync(join(cwd, "geo.csv"), `${GOOD}91.9.5.0/24,Germany,,Munich,\n`);
    const ran = await inkling("feeds add geo --file geo.csv --format geofeed --claims place");
    expect(ran.err).toContain(
      "has unusable entries, 1 of 4; the first is line 4: has a country that is not a two-letter ISO 3166-1 code",
    );
    expect(ran.code).toBe(1);
  });
});

test("special-use networks are not counted as usable, and a feed with nothing else gets a warning", async () => {
  const { cwd, inkling } = host();
  const add = (id: string) => inkling(`feeds add ${id} --file ${id}.txt --format networks --claims attacker`);
  writeFileSync(join(cwd, "mixed.txt"), "# ours\n91.9.0.0/24\n203.0.113.0/24\n127.0.0.0/8\n");
  expect(await add("mixed")).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^mixed: 3 networks, of which Inkling uses 1; skipped 2, the first: line 3: 203\.0\.113\.0\/24 is documentation: never flagged\n/,
    ),
    err: expect.not.stringContaining("no effect"),
  });
  writeFileSync(join(cwd, "private.txt"), "192.168.0.0/16\n10.0.0.0/8\n");
  expect(await add("private")).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^private: 2 networks, of which Inkling uses 0; skipped 2, the first: line 1: 192\.168\.0\.0\/16 is private: never flagged\n/,
    ),
    err: expect.stringContaining(
      "warning: private has no effect, because Inkling skips all of its entries\n",
    ),
  });
  const { out } = await inkling("feeds check private --json");
  expect(JSON.parse(out)).toMatchObject({ entries: 2, usable: 0 });
});
