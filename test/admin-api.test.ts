// Tests the admin API over a real socket, with real releases and the command that its actions run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { MAX_IMPORT_BYTES } from "@inkling/contract";
import { openRelease } from "@inkling/data";
import { BuildBusy, type BuildResult } from "../packages/cli/src/runtime/build.ts";
import { type Build, dataActions, FreshData } from "../packages/cli/src/runtime/keep-fresh.ts";
import { FEEDS } from "../packages/compiler/src/catalog/feeds.ts";
import { releaseChanges } from "../packages/operations/src/release-changes.ts";
import { type RunningServer, startServer } from "../packages/server/src/run/server.ts";
import { finish } from "../packages/server/src/sharing/turns.ts";
import { openStore } from "../packages/store/src/store.ts";
import { fetch } from "./harness/checked-fetch.ts";
import {
  SMALL_NETWORK,
  smallCity,
  smallDomain,
  smallFlag,
  smallRelease,
  temporaryFolder,
} from "./harness/release.ts";
import { testServerOptions } from "./harness/server-options.ts";
import { until } from "./harness/until.ts";

const dataDir = temporaryFolder();
/** What the next build does. */
let build: Build;
let clock = Date.now();
const updates = new FreshData(
  dataDir,
  (...order) => build(...order),
  0,
  () => clock,
);
/** Runs the next build, which is due. */
async function runBuild(next: Build): Promise<void> {
  build = next;
  clock += 3_600_000;
  const { signal } = new AbortController();
  await updates.check({ log: { info: () => {}, error: () => {} } }, signal);
}
const names: string[] = [];
/** The second segment file of each release, in the order of the releases. */
const files: string[] = [];
let server: RunningServer;
let token: string;
/** Lines of the log. */
const lines: string[] = [];

beforeAll(async () => {
  for (const n of [1, 2, 3]) files.push(smallRelease(dataDir, n, [], [], true).files[1]!);
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  token = (await store.adminToken.create({ author: "test", source: "cli" }))!;
  await store.close();
  server = await startServer({
    ...testServerOptions(dataDir),
    logLevel: "info",
    writeLog: (text) => lines.push(...text.split("\n").filter(Boolean)),
    actions: async () => dataActions(updates, { feed: [], dataDir }),
  });
  const { releases } = (await send("GET", "data/releases")).document;
  names.push(...releases.map(({ name }: { name: string }) => name));
});
afterAll(() => server.stop());

/**
 * Sends bytes unchanged.
 * @param isAborted closes the connection after 50 ms instead of waiting for a response
 * @returns everything received until the connection closes
 */
function raw(parts: readonly (string | Uint8Array)[], isAborted = false): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(server.adminPort, "127.0.0.1", () => {
      for (const part of parts) socket.write(part);
      if (isAborted) setTimeout(() => socket.destroy(), 50);
    });
    socket.on("data", (data) => {
      answer += data;
      if (/^HTTP\/1\.1 [2-5]/.test(answer)) socket.end();
    });
    socket.on("error", () => {}); // the server refuses the body before all of it is sent
    socket.on("close", () => resolve(answer));
  });
}

const head = (lines: readonly string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const events = () => lines.map((line) => JSON.parse(line)).filter(({ event }) => event !== "listening");

async function send(method: string, path: string, body?: unknown) {
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/admin/v1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Inkling-Author": "ada" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: whatever a test looks for
  const document: any = await response.json();
  return { status: response.status, document, code: document.code as string };
}

interface Answer {
  readonly geolocation: { readonly city: { readonly name: string } };
}

const INSIDE = SMALL_NETWORK.replace("0/24", "9");
const actions = async () =>
  (await send("GET", "audit?limit=5")).document.entries.map(
    ({ author, action }: { author: string; action: string }) => `${author} ${action}`,
  );

describe("a lookup", () => {
  test("of addresses and email addresses, with evidence, not counted as usage", async () => {
    const values = [INSIDE, `::ffff:${INSIDE}`, ` jane@${smallDomain(3)} `, "8.8.8.8", "10.0.0.1", "nowhere"];
    const { status, document } = await send("POST", "lookup", { values });
    expect(status).toBe(200);
    const [first, mapped, mail, unknown, reserved, none] = document.answers;
    expect(first).toMatchObject({
      kind: "address",
      address: INSIDE,
      geolocation: { city: { name: smallCity(3) } },
    });
    expect(first.reputation[smallFlag(3)]).toBe(true);
    expect(first.reputation.evidence).toHaveLength(1);
    expect({ ...mapped, value: "" }).toEqual({ ...first, value: "" });
    expect(mail).toMatchObject({
      kind: "email",
      value: `jane@${smallDomain(3)}`,
      email: { disposable: true },
    });
    expect([unknown.geolocation.code, unknown.reputation.is_proxy]).toEqual(["IP_ADDRESS_NOT_FOUND", false]);
    expect(reserved.reputation).toMatchObject({
      code: "IP_ADDRESS_RESERVED",
      detail:
        "10.0.0.1 is a private address. It belongs to 10.0.0.0/8: any organization may use the network internally, so no feed describes it; look up the visitor's public address.",
    });
    expect([none.kind, none.geolocation]).toEqual([
      "unknown",
      expect.objectContaining({
        code: "VALUE_INVALID",
        detail: '"nowhere" is not an IP address, network, AS number, domain or email address.',
      }),
    ]);
    expect((await send("GET", "keys")).document.keys).toEqual([]);
  });

  test("of domains and networks", async () => {
    const domain = smallDomain(3);
    const network = INSIDE.replace("69.9", "69.9/23");
    const values = [domain, `Mail.${domain.toUpperCase()}`, "gmial.com", network, "10.0.0.0/8", "x.com/y"];
    const { document } = await send("POST", "lookup", { values });
    const [listed, below, mistyped, wide, reserved, path] = document.answers;
    for (const answer of [listed, below]) {
      expect(answer).toMatchObject({ kind: "domain", email: { valid: true, disposable: true } });
    }
    expect(mistyped.email.evidence).toMatchObject([{ did_you_mean: "gmail.com" }]);
    expect(JSON.stringify(document)).not.toContain("@");
    expect(wide).toMatchObject({ kind: "network", network: "81.2.68.0/23", summary: { flagged: 0.5 } });
    expect(reserved).toMatchObject({ kind: "network", summary: { code: "IP_ADDRESS_RESERVED" } });
    const detail = '"x.com/y" cannot be looked up: leave out the path.';
    expect(path).toMatchObject({ kind: "unknown", reputation: { code: "VALUE_INVALID", detail } });
  });

  test("of an AS, with its networks, feeds and owners", async () => {
    const { document } = await send("POST", "lookup", { values: ["AS20712"], parts: 1 });
    const [{ system, ...rest }] = document.answers;
    expect(rest).toEqual({ value: "AS20712", kind: "as", asn: 20712, overrides: [] });
    expect(system).toMatchObject({
      organization: "Andrews & Arnold, Ltd",
      ipv4: { networks: ["81.2.69.0/25"], network_count: 1, flagged: 1 },
    });
    expect(system.ipv4.prefixes).toHaveLength(1);
    expect(system.ipv4.owners).toMatchObject([{ asn: 20712, share: 1 }]);
    expect(system.ipv4.sources).toMatchObject([{ feed: "test", effect: "sets", share: 1 }]);
    const none = (await send("POST", "lookup", { values: ["AS64496", SMALL_NETWORK] })).document.answers;
    expect(none[0]).toMatchObject({ kind: "as", system: null });
    expect(none[1].summary.sources).toBeUndefined(); // only in answers about a single value
  });

  test("in every stored release, newest first and without overrides", async () => {
    const override = { value: INSIDE, flag: smallFlag(3), verdict: false, note: "x" };
    const made = await send("POST", "overrides", override);
    const { document } = await send("POST", "lookup/history", { value: INSIDE });
    const rows = document.history.map(
      ({ current, answer, problem }: { current: boolean; answer: Answer; problem: string | null }) => [
        current,
        answer.geolocation.city.name,
        problem,
      ],
    );
    expect(rows).toEqual([
      [true, smallCity(3), null],
      [false, smallCity(2), null],
      [false, smallCity(1), null],
    ]);
    expect(document.history[0].answer).toMatchObject({ reputation: { [smallFlag(3)]: true }, overrides: [] });
    await send("DELETE", `overrides/${made.document.id}`);
  });

  test("shows the overrides that apply: who, why, until when", async () => {
    const expires_at = new Date(Date.now() + 1e9).toISOString();
    const add = async (value: string, flag: string) => {
      const body = { value, flag, verdict: true, note: `why ${value}`, expires_at };
      return (await send("POST", "overrides", body)).document;
    };
    const made = [
      await add(SMALL_NETWORK, "is_tor_exit"),
      await add(INSIDE, "is_proxy"),
      await add("partner-shop.com", "disposable"),
      await add("ada@partner-shop.com", "disposable"),
    ];
    const values = [
      INSIDE,
      "81.2.69.0/25",
      "81.2.69.128/25",
      "partner-shop.com",
      "ada@partner-shop.com",
      "8.8.8.8",
    ];
    const { document } = await send("POST", "lookup", { values });
    const notes = document.answers.map(({ overrides }: { overrides: { note: string }[] }) =>
      overrides.map(({ note }) => note.slice("why ".length)).sort(),
    );
    const both = [SMALL_NETWORK, INSIDE].sort();
    const mailbox = "ada@partner-shop.com";
    expect(notes).toEqual([both, both, [SMALL_NETWORK], ["partner-shop.com"], [mailbox], []]);
    const { outcome, ...shown } = made[1];
    expect(outcome).toBe("added");
    expect(document.answers[0].overrides).toContainEqual({ ...shown, expires_at });
    for (const { id } of made) await send("DELETE", `overrides/${id}`);
  });

  test("applies overrides", async () => {
    const made = await send("POST", "overrides", {
      value: INSIDE,
      flag: smallFlag(3),
      verdict: false,
      note: "x",
    });
    const { document } = await send("POST", "lookup", { values: [INSIDE] });
    expect(document.answers[0].reputation).toMatchObject({ [smallFlag(3)]: false });
    expect(document.answers[0].reputation.evidence[0]).toMatchObject({ feed: "override" });
    await send("DELETE", `overrides/${made.document.id}`);
  });

  const bodies: [name: string, body: unknown][] = [
    ["no values", {}],
    ["an empty list", { values: [] }],
    ["a number", { values: [1] }],
    ["an empty text", { values: [""] }],
    ["101 values", { values: new Array(101).fill("8.8.8.8") }],
    ["a value of 401 characters", { values: ["x".repeat(401)] }],
    ["10,001 parts", { values: ["8.8.8.8"], parts: 10_001 }],
  ];
  test.each(bodies)("of %s is refused", async (_, body) => {
    expect((await send("POST", "lookup", body)).code).toBe("BODY_INVALID");
  });
});

describe("data", () => {
  test("the current release and the state of updates", async () => {
    const { document } = await send("GET", "data");
    expect(document).toMatchObject({
      release: { name: names[0] },
      pinned: null,
      missing: [],
      update: { running: false, asked: false, last: null },
    });
    const { feeds, unused } = (await send("GET", "data/feeds")).document;
    expect([feeds, unused.length]).toEqual([[], FEEDS.length]);
  });

  test("a feed is turned off and on; one whose terms need agreement is not", async () => {
    const isOn = async (id: string) =>
      (await send("GET", "data/feeds")).document.unused.find((feed: { id: string }) => feed.id === id).on;
    for (const on of [false, true]) {
      const choose = () => send("POST", "data/feeds", { id: "ipsum-3", on });
      expect((await choose()).document).toEqual({ id: "ipsum-3", on, changed: true });
      expect((await choose()).document).toEqual({ id: "ipsum-3", on, changed: false });
      expect(await isOn("ipsum-3")).toBe(on);
    }
    const agreement = await send("POST", "data/feeds", { id: "dshield", on: true });
    expect([agreement.status, agreement.document.code]).toEqual([409, "ACTION_REFUSED"]);
    expect(JSON.stringify(agreement.document)).toContain("inkling feeds enable dshield");
    expect(await isOn("dshield")).toBe(false);
    expect((await send("POST", "data/feeds", { id: "nonsense", on: true })).document.code).toBe(
      "ACTION_REFUSED",
    );
  });

  test("releases, newest first, and what changed between them", async () => {
    const { releases } = (await send("GET", "data/releases")).document;
    expect(releases.map(({ current }: { current: boolean }) => current)).toEqual([true, false, false]);
    expect(releases[2].feeds_changed).toBeNull();
    const { document } = await send("GET", `data/releases/${names[0]}/changes`);
    expect(document).toMatchObject({ release: names[0], before: names[1] });
    const nothing = { ipv4_addresses: 0, ipv6_networks: 0 };
    const all = { ipv4_addresses: 256, ipv6_networks: 0 };
    const flags = ["is_abuser", "is_proxy", "is_tor_exit"].map((flag) => [
      flag,
      { added: flag === smallFlag(3) ? all : nothing, removed: flag === smallFlag(2) ? all : nothing },
    ]);
    expect(document.changes).toEqual({
      flags: Object.fromEntries(flags),
      disposable: { added: 1, removed: 1 },
    });
    expect(await send("GET", `data/releases/${names[2]}/changes`)).toMatchObject({
      document: { before: null },
    });
    expect((await send("GET", `data/releases/${releases[0].id}/changes`)).document).toEqual(document);
    for (const id of ["20200101T000000000Z-0123456789ab", "0123456789ab", "newest", releases[0].id.slice(1)])
      expect((await send("GET", `data/releases/${id}/changes`)).code).toBe("RELEASE_NOT_FOUND");
  });

  test("nothing changes between a release and itself", () => {
    const release = openRelease(dataDir, names[0]!);
    const { flags, disposable } = finish(releaseChanges(release, release));
    const none = {
      added: { ipv4_addresses: 0, ipv6_networks: 0 },
      removed: { ipv4_addresses: 0, ipv6_networks: 0 },
    };
    expect(Object.values(flags!)).toEqual([none, none, none]);
    expect(disposable).toEqual({ added: 0, removed: 0 });
  });

  test("roll back, with the current release in the request, and forward again", async () => {
    expect((await send("POST", "data/rollback", { current: names[1] })).code).toBe("RELEASE_CONFLICT");
    expect((await send("POST", "data/rollback", {})).code).toBe("BODY_INVALID");
    const back = await send("POST", "data/rollback", { current: names[0] });
    const done = { from: names[0], to: names[1], pinned: names[1], changed: true, passed_over: [] };
    expect(back.document).toEqual(done);
    expect((await send("GET", "data")).document).toMatchObject({
      release: { name: names[1] },
      pinned: names[1],
    });
    // the same request was sent twice
    expect((await send("POST", "data/rollback", { current: names[0] })).code).toBe("RELEASE_CONFLICT");
    const forward = await send("DELETE", "data/pin");
    expect(forward.document).toEqual({ from: names[1], to: names[0], pinned: null, changed: true });
    expect((await send("DELETE", "data/pin")).document).toEqual({
      from: names[0],
      to: names[0],
      pinned: null,
      changed: false,
    });
    expect((await actions()).slice(0, 2)).toEqual(["ada release-unpinned", "ada release-rolled-back"]);
    const { entries } = (await send("GET", "audit?limit=2")).document;
    expect(entries[1]).toMatchObject({
      before: { current: names[0], pinned: null },
      after: { current: names[1], pinned: names[1] },
    });
  });

  test("switch to any stored release", async () => {
    const choose = (current: string | undefined, to: unknown) =>
      send("POST", "data/rollback", { current, to });
    const oldest = await choose(names[0], names[2]);
    expect(oldest.document).toMatchObject({ from: names[0], to: names[2], pinned: names[2] });
    const idOf = (name = "") => name.split("-")[1];
    const between = await choose(idOf(names[2]), idOf(names[1]));
    expect(between.document).toMatchObject({ from: names[2], to: names[1], pinned: names[1] });
    const none = await choose(names[1], "20200101T000000000Z-0123456789ab");
    expect([none.status, none.code]).toEqual([404, "RELEASE_NOT_FOUND"]);
    expect(none.document.problems).toEqual([`stored releases: ${names.join(", ")}`]);
    for (const name of ["--help", "../../current"])
      expect((await choose(names[1], name)).code).toBe("RELEASE_NOT_FOUND");
    expect((await choose(names[1], 5)).code).toBe("BODY_INVALID");
    expect((await choose(names[0], names[2])).code).toBe("RELEASE_CONFLICT");
    expect((await send("GET", "data")).document).toMatchObject({ release: { name: names[1] } });
    await send("DELETE", "data/pin");
  });

  test("pin the current release", async () => {
    const body = { current: names[0] };
    expect((await send("POST", "data/pin", body)).document).toMatchObject({ to: names[0], pinned: names[0] });
    await send("POST", "data/pin", body);
    expect((await actions())[0]).toBe("ada release-pinned");
    expect((await actions())[1]).not.toBe("ada release-pinned");
    await send("DELETE", "data/pin");
  });

  test("an update is requested once, until it starts", async () => {
    for (let i = 0; i < 2; i++) {
      const { status, document } = await send("POST", "data/update");
      expect([status, document.asked]).toEqual([202, true]);
    }
    expect(updates.isRequested).toBe(true);
    expect((await actions()).filter((text: string) => text === "ada data-update-asked")).toHaveLength(1);
    await runBuild(async (isWanted) => {
      expect([isWanted, updates.state.running, updates.isRequested]).toEqual([true, true, false]);
      throw new Error("no room");
    });
    expect((await send("GET", "data/update")).document).toMatchObject({
      running: false,
      asked: false,
      last: { problem: "no room", hint: null },
    });
    const lists = {
      held: ["ipsum-3"],
      expired: [],
      failed: [],
      unreached: ["feodo"],
      missing: ["tor-onionoo"],
    };
    const done = { name: names[0], published: false, seconds: 1, ...lists };
    await runBuild(async () => ({ done, feeds: [] }) as unknown as BuildResult);
    expect((await send("GET", "data/update")).document.last).toMatchObject({
      release: names[0],
      published: false,
      failed: ["ipsum-3", "feodo", "tor-onionoo"],
    });
  });

  test("an update is requested while feeds that are due are fetched, not while all are", async () => {
    const requests = async () =>
      (await actions()).filter((text: string) => text === "ada data-update-asked").length;
    const before = await requests();
    const none = { held: [], expired: [], failed: [], unreached: [], missing: [] };
    const done = {
      done: { name: names[0], published: false, seconds: 1, ...none },
    } as unknown as BuildResult;
    await runBuild(async (isWanted) => {
      expect(isWanted).toBe(false);
      for (let i = 0; i < 2; i++) {
        const { status, document } = await send("POST", "data/update");
        expect([status, document.running, document.asked]).toEqual([202, true, true]);
      }
      return done;
    });
    expect([updates.isRequested, await requests()]).toEqual([true, before + 1]);
    await runBuild(async (isWanted) => {
      expect(isWanted).toBe(true);
      expect((await send("POST", "data/update")).document).toMatchObject({ running: true, asked: false });
      return done;
    });
    expect([updates.isRequested, await requests()]).toEqual([false, before + 1]);
  });

  test("only a held copy is accepted, by the next build that can run", async () => {
    const accept = (copy: string) => send("POST", "data/accept", { copies: [copy] });
    const refused = await accept("ipsum-3@000000000000");
    expect([refused.code, refused.document.detail]).toEqual(["ACTION_REFUSED", "no copy of ipsum-3 is held"]);
    expect((await accept("ipsum-3")).status).toBe(400);
    const about = { sets: "is_abuser", source: "none", state: "missing", entries: 0, licence: "x" };
    const held = { sha256: "b".repeat(64), why: "too many" };
    const report = { format: 1, at: new Date().toISOString(), feeds: [{ id: "ipsum-3", ...about, held }] };
    const reportFile = join(dataDir, "feeds/report.json");
    const reportBefore = existsSync(reportFile) ? readFileSync(reportFile, "utf8") : undefined;
    mkdirSync(join(dataDir, "feeds"), { recursive: true });
    writeFileSync(reportFile, JSON.stringify(report));
    const other = await accept("ipsum-3@000000000000");
    expect([other.status, other.code]).toEqual([409, "COPY_CONFLICT"]);
    expect(other.document.detail).toContain("The held copy is now ipsum-3@bbbbbbbbbbbb.");
    if (reportBefore === undefined) rmSync(reportFile);
    else writeFileSync(reportFile, reportBefore);
    expect((await accept("release")).document.asked).toBe(true);
    const accepted: (readonly string[])[] = [];
    const build = async (_: boolean, accept: readonly string[]) => {
      accepted.push(accept);
      throw accepted.length === 1 ? new BuildBusy("another build runs") : new Error("no room");
    };
    for (const _ of [1, 2]) await runBuild(build);
    expect([accepted, updates.isRequested]).toEqual([[["release"], ["release"]], false]);
    expect((await actions())[0]).toBe("ada data-accepted");
  });

  test("nothing to roll back to: reason and hint; no change", async () => {
    const before = (await send("GET", "data")).document.release.name;
    for (const name of names.slice(1)) rmSync(join(dataDir, "releases", `${name}.json`));
    const refused = await send("POST", "data/rollback", { current: before });
    expect([refused.status, refused.code]).toEqual([409, "ACTION_REFUSED"]);
    expect(refused.document.detail).toBe(`there is no release earlier than ${before}`);
    expect(refused.document.problems).not.toEqual([]);
    expect((await send("GET", "data")).document).toMatchObject({ release: { name: before }, pinned: null });
  });
});

test("HEAD over HTTP/1.0, without a host, has the headers of GET", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(server.adminPort!, "127.0.0.1"); // the server listens because an admin port was given
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
    if (received.includes("\r\n\r\n")) resolve(received);
  });
  socket.write(`HEAD /admin/v1/session HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  expect(await promise).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)*content-length: 73\r\n/i);
  socket.destroy();
});

describe("what is no fault of the server is not logged as one", () => {
  const failed = () =>
    events().filter(({ event, status }) => event === "admin-request-failed" || status === 500);

  test("a client that aborts a login", async () => {
    lines.length = 0;
    const head1 = head(["POST /admin/v1/session HTTP/1.1", "Host: localhost", "Content-Length: 200"]);
    const head2 = head(["POST /admin/v1/session HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked"]);
    await raw([head1, '{"token":'], true);
    await raw([head2, '5\r\n{"tok\r\n'], true);
    const ended = () => events().filter(({ route }) => route === "/admin/v1/session");
    await until(() => ended().length === 2);
    expect(failed()).toEqual([]);
    expect(ended().map(({ status, level }) => [level, status])).toEqual([
      ["info", 400],
      ["info", 400],
    ]);
  });

  test.each([
    ["session", 20_000, "16384"],
    ["overrides/import", MAX_IMPORT_BYTES + 1, String(MAX_IMPORT_BYTES)],
  ])("a chunked body that is too large: %s", async (path, bytes, most) => {
    lines.length = 0;
    const lead = [`POST /admin/v1/${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${token}`];
    const chunk = Buffer.alloc(bytes, 32);
    const parts = [`${bytes.toString(16)}\r\n`, chunk, "\r\n0\r\n\r\n"];
    const answer = await raw([head([...lead, "Transfer-Encoding: chunked"]), ...parts]);
    expect(answer).toStartWith("HTTP/1.1 413 ");
    expect(answer).toContain(`The body may have at most ${most} bytes.`);
    await until(() => events().length > 0);
    expect(events().map(({ event, status }) => [event, status])).toEqual([["admin-request", 413]]);
  });
});

describe("the Host of a request", () => {
  const getFrom = (host: string, path: string) =>
    raw([head([`GET ${path} HTTP/1.1`, ...(host === "" ? [] : [`Host: ${host}`]), "Connection: close"])]);

  test.each(["/metrics", "/", "/admin/v1/openapi.json", "/admin/v1/keys"])(
    "of another site is refused before anything is answered: %s",
    async (path) => {
      const answer = await getFrom("evil.example:8081", path);
      expect(answer).toStartWith("HTTP/1.1 421 ");
      expect(answer).toContain('"code":"HOST_REFUSED"');
      expect(answer).not.toContain("inkling_");
    },
  );

  test.each(["localhost", "127.0.0.1:9", "[::1]:8081", "inkling"])("%s is answered", async (host) => {
    expect(await getFrom(host, "/metrics")).toStartWith("HTTP/1.1 200 ");
  });

  test("refusals are counted", async () => {
    await getFrom("evil.example", "/");
    const metrics = await getFrom("localhost", "/metrics");
    expect(metrics).toMatch(/inkling_admin_problems_total\{code="HOST_REFUSED"\} [1-9]/);
  });
});
