// Tests batches as a function of a request: limits, one answer or problem per value, and what is counted. The recorded
// contract (test/contract.test.ts) covers status, headers and body of every form and refusal.
// test/scenarios/server/batch-streams.test.ts tests streams, back-pressure and clients that stop over real sockets.

import { describe, expect, test } from "bun:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { NO_FLAGS, SANDBOX_ADDRESSES, SANDBOX_PROBLEMS } from "@inkling/contract";
import {
  type Answers,
  formatIp,
  type IpAddress,
  type IpSegment,
  type LoadedRelease,
  type Override,
  type Overrides,
  type PartSink,
  parseIp,
  type Release,
} from "@inkling/engine";
import type { Key } from "@inkling/store/keys/key";
import { overridesOf } from "@inkling/store/overrides/record";
import fc from "fast-check";
import {
  encode,
  inUse,
  KEY,
  NOON,
  type Over,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { App } from "../api/app.ts";
import { cellsOnDemand } from "../limits/key-cells.testing.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { SANDBOX_VERSION } from "../lookup/sandbox.ts";
import { MAX_JSON_BYTES } from "./body.ts";
import { gunzipped } from "./gzip.ts";
import { MAX_LINE_BYTES } from "./lines.ts";
import { HOLD_MS } from "./stream.ts";

const repeated = <T>(count: number, value: T) => Array.from({ length: count }, () => value);

const KNOWN = "81.2.69.142";
const KNOWN_WORD = parseIp(KNOWN)!.words[0]!;
const CRASHING = "9.9.9.9";

/** Creates a segment with one answer. @param record the index of that answer */
function segment(answer: string, record = 1): IpSegment {
  const find = (address: IpAddress) => {
    if (formatIp(address) === CRASHING) throw new Error("damaged near jane@crash.org");
    return formatIp(address) === KNOWN ? encode(answer) : undefined;
  };
  return testSegment({
    lookup: find,
    record: () => record,
    answer: () => encode(answer),
    answers: {
      copy: (number: number, out: PartSink) => {
        if (number !== record) return 0;
        out.append(encode(answer), 0, answer.length);
        return answer.length;
      },
      touch: () => 0,
    } as unknown as Answers,
    recordBlock: ({ length, families, words }, records) => {
      for (let i = 0; i < length; i++)
        records[i] = families[i] === 4 && words[4 * i] === KNOWN_WORD ? record : 0;
    },
    evidence: (address) =>
      formatIp(address) === KNOWN
        ? Uint8Array.from([1, 0, 0, 0, 0, 0, 11, 0, 24, ...encode('{"feed":"a"')])
        : undefined,
    networkBits: () => 20,
    reasonBits: () => 20,
  });
}

function release(city: string, over: Partial<Release> = {}): LoadedRelease {
  const geo = segment(`{"city":{"name":"${city}"}}`);
  const reputation = segment(JSON.stringify({ ...NO_FLAGS, is_abuser: true }));
  const tails = [encode("}")];
  const evidence = { geolocate: tails, reputation: tails, email: tails, network: tails };
  return testRelease(city, { id: city, ...over }, { geo, reputation, evidence });
}

interface Setting {
  readonly key?: Partial<Key>;
  readonly release?: LoadedRelease | undefined;
  readonly rate?: number;
  readonly burst?: number;
  readonly used?: number;
  readonly overrides?: readonly Override[];
  readonly mx?: NonNullable<Over["checks"]>["checkMx"];
  readonly peer?: string;
}

/** Creates an app that accepts the token "good", with a clock that the test moves. */
function setUp(setting: Setting = {}) {
  const at = { ms: 0 };
  const state: { key: Key | undefined; release: LoadedRelease | undefined } = {
    key: { ...KEY, ...setting.key },
    release: "release" in setting ? setting.release : release("Boxford"),
  };
  const { services, ...seen } = testServices(
    {
      releases: {
        ...inUse(undefined),
        get current() {
          return state.release;
        },
      },
      authenticate: (header) =>
        header === "Bearer good" && state.key !== undefined
          ? { ok: true, key: state.key }
          : { ok: false, code: header ? "KEY_INVALID" : "KEY_MISSING" },
      buckets: new Buckets({ rate: setting.rate ?? 0, burst: setting.burst ?? 1 }, cellsOnDemand(NOON)),
      overrides: { current: overridesOf(setting.overrides ?? []) },
      ...(setting.mx && { checks: { checkMx: setting.mx } }),
      now: () => NOON + at.ms,
      elapsed: () => at.ms,
    },
    (_, counted, count): [lookup: string, count: number] => [counted, count],
    setting.used,
  );
  const app = new App(services);
  const peers = { requestIP: () => ({ address: setting.peer ?? KNOWN }) };
  const post = async (path: string, body: Body | null, headers: Record<string, string> = {}) =>
    app.handle(
      new Request(`http://test${path}`, {
        method: "POST",
        body,
        headers: { Authorization: "Bearer good", "Content-Type": JSON_TYPE, ...headers },
        duplex: "half",
      } as RequestInit),
      peers,
    );
  const values = (path: string, list: readonly unknown[], headers = {}) =>
    post(path, JSON.stringify({ values: list }), headers);
  const stream = (path: string, body: Body, headers: Record<string, string> = {}) =>
    post(path, body, { "Content-Type": NDJSON_TYPE, ...headers });
  return { post, values, stream, at, state, services, ...seen };
}

type Body = string | Uint8Array | ReadableStream;
const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";
const GEO = "/v1/ip-intel/geolocate";
const REP = "/v1/ip-intel/reputation";
const MAIL = "/v1/user-intel/email";
const CLEAN = NO_FLAGS;
const ABUSER = { ...CLEAN, is_abuser: true };

/** Returns each answer, or the code of each problem. */
const codes = (answers: readonly unknown[]) =>
  answers.map((answer) => (answer as { code?: string }).code ?? answer);
const answersOf = async (response: Response) =>
  codes(((await response.json()) as { answers: unknown[] }).answers);
const codeOf = async (response: Response) => ((await response.json()) as { code?: string }).code;

/** Reads the lines of a stream. It copies each piece at once, as a socket does. */
async function linesOf(response: Response): Promise<unknown[]> {
  return codes(
    (await textOf(response))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line)),
  );
}

async function textOf(response: Response): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response.body!) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

const ndjson = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).join("\n");

const VALUES: readonly [name: string, path: string, value: unknown, want: unknown][] = [
  ["a known address", GEO, KNOWN, { city: { name: "Boxford" } }],
  ["an unknown address", GEO, "8.8.8.8", "IP_ADDRESS_NOT_FOUND"],
  ["me", GEO, "me", { city: { name: "Boxford" } }],
  ["white space inside", GEO, ` ${KNOWN}`, "IP_ADDRESS_INVALID"],
  ["private", GEO, "10.0.0.1", "IP_ADDRESS_RESERVED"],
  ["null", REP, null, "VALUE_INVALID"],
  ["flags", REP, KNOWN, ABUSER],
  ["no flags", REP, "8.8.8.8", CLEAN],
  ["what fails inside", GEO, CRASHING, "INTERNAL"],
  ["disposable", MAIL, "a@mailinator.com", { valid: true, disposable: true, providers: ["mailinator.com"] }],
  ["Unicode", MAIL, "jörg@gmail.com", { valid: true, disposable: false, providers: [] }],
  ["half a surrogate pair", MAIL, "\ud800@gmail.com", { valid: false, disposable: false, providers: [] }],
];

describe("a value", () => {
  test.each(VALUES)("%s", async (_, path, value, want) => {
    expect(await answersOf(await setUp().values(path, [value]))).toEqual([want]);
    const { stream, recorded, lines } = setUp();
    expect(await linesOf(await stream(path, ndjson([value])))).toEqual([want]);
    const isLookup = typeof want !== "string" || want === "IP_ADDRESS_NOT_FOUND";
    expect(recorded.length).toBe(isLookup ? 1 : 0);
    expect(lines.join("")).not.toContain("jane");
  });

  test.each([
    ["escapes", `"\\u0038${KNOWN.slice(1)}"`, { city: { name: "Boxford" } }],
    ["white space around", `\t "${KNOWN}" \r`, { city: { name: "Boxford" } }],
    ["a byte order mark", `\ufeff"${KNOWN}"`, { city: { name: "Boxford" } }],
    ["no quotes", KNOWN, "VALUE_INVALID"],
    ["no closing quote", `"${KNOWN}`, "VALUE_INVALID"],
    ["two values", `"${KNOWN}" "${KNOWN}"`, "VALUE_INVALID"],
    ["two values with a comma", `"${KNOWN}","${KNOWN}"`, "VALUE_INVALID"],
    ["a control character", '"8.8.8.8\u0001"', "VALUE_INVALID"],
    ["a deep list", "[".repeat(MAX_LINE_BYTES), "VALUE_INVALID"],
    ["too long", `"${"8".repeat(MAX_LINE_BYTES)}"`, "VALUE_INVALID"],
  ])("as a line: %s", async (_, line, want) => {
    const { stream } = setUp();
    expect(await linesOf(await stream(GEO, `${line}\n"${KNOWN}"\n`))).toEqual([
      want,
      { city: { name: "Boxford" } },
    ]);
  });

  test("as a line that is not UTF-8", async () => {
    const { stream } = setUp();
    const body = Buffer.concat([
      Buffer.from('"a'),
      Buffer.of(0xff),
      Buffer.from('@gmail.com"\n"b@gmail.com"'),
    ]);
    expect(await linesOf(await stream(MAIL, body))).toEqual([
      "VALUE_INVALID",
      { valid: true, disposable: false, providers: [] },
    ]);
  });

  test("with evidence", async () => {
    for (const [path, flag] of [
      [REP, "is_abuser"],
      [GEO, "city"],
    ] as const) {
      const { values, stream } = setUp();
      const wanted = { [flag]: expect.anything(), evidence: [{ feed: "a", network: expect.any(String) }] };
      expect(await answersOf(await values(`${path}?include=evidence`, [KNOWN]))).toMatchObject([wanted]);
      expect(await linesOf(await stream(`${path}?include=evidence`, `"${KNOWN}"`))).toMatchObject([wanted]);
    }
  });

  test("with overrides", async () => {
    const override = (
      kind: "address" | "domain",
      value: string,
      flag: "is_abuser" | "disposable",
    ): Override =>
      ({
        id: `ovr_${value}`,
        kind,
        value,
        flag,
        verdict: value === "gmail.com",
      }) as Override;
    const overrides = [
      override("address", KNOWN, "is_abuser"),
      override("domain", "gmail.com", "disposable"),
    ];
    const { values, stream } = setUp({ overrides });
    const disposable = { valid: true, disposable: true, providers: ["gmail.com"] };
    expect(await answersOf(await values(REP, [KNOWN, "8.8.8.8"]))).toEqual([CLEAN, CLEAN]);
    expect(await linesOf(await stream(REP, `"${KNOWN}"`))).toEqual([CLEAN]);
    expect(await answersOf(await values(MAIL, ["a@gmail.com"]))).toEqual([disposable]);
    expect(await linesOf(await stream(MAIL, '"a@gmail.com"'))).toEqual([disposable]);
    const [answer] = (await linesOf(await stream(`${REP}?include=evidence`, `"${KNOWN}"`))) as {
      evidence: object[];
    }[];
    expect(answer!.evidence[0]).toMatchObject({ feed: "override", id: `ovr_${KNOWN}` });
  });

  test("of a sandbox key has its fixed answer", async () => {
    const { values, stream } = setUp({ key: { mode: "test" }, release: undefined });
    const addresses = [
      "me",
      ...SANDBOX_ADDRESSES.map(({ v6 }) => v6),
      ...SANDBOX_PROBLEMS.map(({ v4 }) => v4),
    ];
    const want = [
      CLEAN,
      ...SANDBOX_ADDRESSES.map(({ flags = [] }) => ({
        ...CLEAN,
        ...Object.fromEntries(flags.map((flag) => [flag, true])),
      })),
      ...SANDBOX_PROBLEMS.map(({ code }) => code),
    ];
    const response = await values(REP, addresses);
    expect(response.headers.get("inkling-data-version")).toBe(SANDBOX_VERSION);
    expect(await answersOf(response)).toEqual(want);
    expect(await linesOf(await stream(REP, ndjson(addresses)))).toEqual(want);
    const evidence = await linesOf(await stream(`${REP}?include=evidence`, '"192.0.2.6"'));
    expect(evidence).toMatchObject([{ is_tor_exit: true, evidence: [{ feed: "sandbox-tor" }] }]);
  });

  test("that fails inside is logged without the value", async () => {
    const { stream, lines } = setUp();
    await textOf(await stream(GEO, `"${CRASHING}"`));
    const log = lines.join("");
    expect(log).toContain('"event":"request-failed"');
    expect(log).not.toContain(CRASHING);
    expect(log).not.toContain("crash.org");
  });
});

type Refusal = readonly [
  name: string,
  setting: Setting,
  path: string,
  body: Body | null,
  headers: Record<string, string>,
  status: number,
  code: string,
];
const one = JSON.stringify({ values: [KNOWN] });
const gzip = { "Content-Encoding": "gzip" };
const REFUSALS: readonly Refusal[] = [
  ["no key", {}, GEO, one, { Authorization: "" }, 401, "KEY_MISSING"],
  ["a quota used up", { key: { quota: 5 }, used: 5 }, GEO, one, {}, 429, "QUOTA_EXCEEDED"],
  [
    "checks=mx of two",
    {},
    `${MAIL}?checks=mx`,
    JSON.stringify({ values: ["a@gmail.com", "b@gmail.com"] }),
    {},
    400,
    "PARAMETER_INVALID",
  ],
  ["a field of all objects", {}, GEO, one, { "Content-Type": "constructor" }, 415, "CONTENT_TYPE_INVALID"],
  ["their prototype", {}, REP, one, { "Content-Type": "__proto__" }, 415, "CONTENT_TYPE_INVALID"],
  ["two codings", {}, GEO, one, { "Content-Encoding": "gzip, gzip" }, 415, "CONTENT_TYPE_INVALID"],
  ["a deep list", {}, GEO, `{"values":${"[".repeat(MAX_JSON_BYTES - 20)}`, {}, 400, "BATCH_INVALID"],
  ["gzip that is cut", {}, GEO, gzipSync(one).subarray(0, -3), gzip, 400, "BATCH_INVALID"],
  ["1,001 values", {}, GEO, JSON.stringify({ values: repeated(1_001, KNOWN) }), {}, 413, "CONTENT_TOO_LARGE"],
  [
    "missing data",
    { release: release("a", { missing: ["is_abuser"] }) },
    REP,
    one,
    {},
    503,
    "DATA_NOT_LOADED",
  ],
];

/** Creates a body without an end, and counts the 64-KiB pieces that were read from it. */
function endless() {
  let count = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    count++;
    controller.enqueue(new Uint8Array(65_536));
  };
  return { body: new ReadableStream({ pull }, { highWaterMark: 0 }), pulled: () => count };
}

describe("checks=mx of one value", () => {
  const send = async (value: unknown, setting: Setting = {}, query = "?checks=mx") => {
    const { post, recorded, lines } = setUp(setting);
    const response = await post(`${MAIL}${query}`, JSON.stringify({ values: [value] }));
    const { answers } = (await response.json()) as { answers: Record<string, unknown>[] };
    return { answers, recorded, lines };
  };
  test("asks DNS, and is one lookup", async () => {
    const { answers, recorded } = await send("a@gmail.com");
    expect(answers).toEqual([{ valid: true, disposable: false, providers: [], checks: { mx: "found" } }]);
    expect(recorded).toEqual([["email", 1]]);
  });
  test("answers as GET does, evidence included", async () => {
    const app = new App(setUp().services);
    const url = `http://test${MAIL}/postmaster%40gmail.com?checks=mx&include=evidence`;
    const single = await app.handle(new Request(url, { headers: { Authorization: "Bearer good" } }), {
      requestIP: () => ({ address: KNOWN }),
    });
    const { answers } = await send("postmaster@gmail.com", {}, "?checks=mx&include=evidence");
    expect(answers).toEqual([(await single.json()) as Record<string, unknown>]);
  });
  test("of the sandbox", async () => {
    const { answers } = await send("a@null-mx.example", { key: { mode: "test" } });
    expect(answers).toEqual([{ valid: false, disposable: false, providers: [], checks: { mx: "null" } }]);
  });
  test("a value that is none, and one that the sandbox refuses", async () => {
    expect((await send(7)).answers).toMatchObject([{ code: "VALUE_INVALID" }]);
    const { answers } = await send("a@internal.example", { key: { mode: "test" } });
    expect(answers).toMatchObject([{ code: "INTERNAL" }]);
  });
  test("an unexpected error is logged without the address", async () => {
    const mx = () => {
      throw new Error("of a@gmail.com");
    };
    const { answers, lines } = await send("a@gmail.com", { mx });
    expect(answers).toMatchObject([{ code: "INTERNAL" }]);
    expect(lines.join("")).toContain('"event":"request-failed"');
    expect(lines.join("")).not.toContain("a@gmail.com");
  });
});

describe("a batch as a whole", () => {
  test.each(REFUSALS)("is refused: %s", async (...[, setting, path, body, headers, status, code]) => {
    const { post, recorded } = setUp(setting);
    const response = await post(path, body, headers);
    expect(response.status).toBe(status);
    expect(await codeOf(response)).toBe(code);
    expect(recorded).toEqual([]);
  });

  test.each([
    ["none", []],
    ["1,000", repeated(1_000, KNOWN)],
    ["1,000 with white space, 1 MiB", repeated(1_000, KNOWN)],
  ])("takes values: %s", async (name, list) => {
    const { post } = setUp();
    const text = JSON.stringify({ values: list });
    const response = await post(GEO, name.includes("MiB") ? text.padEnd(MAX_JSON_BYTES) : text);
    expect(response.status).toBe(200);
    expect(await answersOf(response)).toEqual(list.map(() => ({ city: { name: "Boxford" } })));
  });

  test("declared too large is refused before anybody reads it, and the connection is closed", async () => {
    const { body, pulled } = endless();
    const { post } = setUp();
    const response = await post(GEO, body, { "Content-Length": String(2 ** 40) });
    expect(response.status).toBe(413);
    expect(response.headers.get("connection")).toBe("close");
    expect(pulled()).toBe(0);
  });

  test("of unknown length is read up to the limit", async () => {
    const { body, pulled } = endless();
    const { post } = setUp();
    const response = await post(GEO, body, { "Transfer-Encoding": "chunked" });
    expect(response.status).toBe(413);
    expect(response.headers.get("connection")).toBe("close");
    expect(pulled()).toBeLessThan(20);
  });

  test("of a key that sends many slowly is refused, until the others are there or gone", async () => {
    const { post, refused } = setUp();
    const most = 32;
    const slow = Array.from({ length: most }, () => {
      const { body, feed, close, fail } = fed();
      feed(" ".repeat(MAX_JSON_BYTES));
      return { response: post(REP, body), close, fail };
    });
    await Bun.sleep(0);
    const late = await post(REP, '{"values":[]}');
    expect([late.status, late.headers.get("retry-after"), await codeOf(late)]).toEqual([
      429,
      "1",
      "RATE_LIMITED",
    ]);
    expect(refused).toEqual([["rate_limited", 1]]);
    slow[0]!.close();
    expect((await slow[0]!.response).status).toBe(400); // white space by itself is not JSON
    expect((await post(REP, '{"values":[]}')).status).toBe(200);
    for (const { fail } of slow.slice(1)) fail();
    for (const { response } of slow) expect((await response).status).toBe(400);
    expect((await post(REP, JSON.stringify({ values: [] }).padEnd(MAX_JSON_BYTES))).status).toBe(200);
  });

  test("as streams: a key has 32 at once; one that ends, or whose client leaves, makes room", async () => {
    const { stream, refused } = setUp();
    const bodies = Array.from({ length: 32 }, fed);
    const open = (body: ReadableStream<Uint8Array>) => stream(GEO, body);
    const responses = await Promise.all(bodies.map(({ body }) => open(body)));
    expect(responses.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    const late = await open(fed().body);
    expect([late.status, late.headers.get("retry-after"), await codeOf(late)]).toEqual([
      429,
      "5",
      "TOO_MANY_STREAMS",
    ]);
    expect(refused).toEqual([["rate_limited", 1]]);
    bodies[0]!.close();
    expect(await textOf(responses[0]!)).toBe("");
    expect((await open(fed().body)).status).toBe(200);
    expect((await open(fed().body)).status).toBe(429);
    await responses[1]!.body!.cancel();
    expect((await open(fed().body)).status).toBe(200);
    const readers = responses.slice(2).map((response) => response.body!.getReader().read());
    for (const { fail } of bodies.slice(2)) fail();
    await Promise.allSettled(readers);
  });

  test("as streams with gzip: each counts as two", async () => {
    const { stream } = setUp();
    const open = async (headers: Record<string, string>) => (await stream(GEO, fed().body, headers)).status;
    for (let i = 0; i < 8; i++) expect(await open({ "Accept-Encoding": "gzip" })).toBe(200);
    for (let i = 0; i < 8; i++) expect(await open({ "Content-Encoding": "gzip" })).toBe(200);
    expect(await open({})).toBe(429);
  });

  const LONG = 2 * 1024 * 1024;
  test.each([
    ["blank lines", "\n".repeat(LONG), []],
    ["spaces", " ".repeat(LONG), []],
    ["blank lines in pieces of a line", ` \n${"\r\n".repeat(LONG / 2)}`, []],
    ["one line", "x".repeat(LONG), []],
    ["lines that are too long", `${"x".repeat(LONG / 16)}\n`.repeat(16), ["VALUE_INVALID"]],
  ])("as a stream of %s: ends with a problem", async (_, text, before) => {
    const { stream } = setUp();
    const { body, feed, close } = fed();
    for (let at = 0; at < text.length; at += 50_000) feed(text.slice(at, at + 50_000));
    feed(`\n"${KNOWN}"\n`);
    close();
    const lines = (await textOf(await stream(GEO, body)))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.pop()).toMatchObject({ code: "BATCH_INVALID", detail: expect.stringContaining("1 MiB") });
    expect([...new Set(lines.map(({ code }) => code))]).toEqual(before);
  });

  test("as a stream with a blank line after each value: goes on, however long", async () => {
    const { stream } = setUp();
    const { body, feed, close } = fed();
    const piece = `"${KNOWN}"\r\n${" ".repeat(60)}\r\n`.repeat(1_000);
    for (let i = 0; i < 40; i++) feed(piece);
    close();
    const text = await textOf(await stream(GEO, body));
    expect([text.split("\n").length, text.includes("code")]).toEqual([40_001, false]);
  });

  test("an empty stream is an empty answer", async () => {
    const { stream, recorded } = setUp();
    const response = await stream(GEO, "\n \n");
    expect([response.status, await textOf(response)]).toEqual([200, ""]);
    expect(recorded).toEqual([]);
  });

  test("reports incomplete data", async () => {
    const { values } = setUp({
      release: release("a", { partial: [{ answer: "is_proxy" }] as unknown as Release["partial"] }),
    });
    const response = await values(REP, [KNOWN]);
    expect(response.headers.get("inkling-data-state")).toBe('partial; incomplete="is_proxy"');
  });
});

describe("gzip", () => {
  test("both ways, fields in a row", async () => {
    const { post, stream } = setUp();
    const list = repeated(1_000, KNOWN);
    const zipped = gzipSync(JSON.stringify({ values: list }));
    const response = await post(GEO, zipped, { ...gzip, "Accept-Encoding": "br, gzip;q=0.5" });
    expect(response.headers.get("content-encoding")).toBe("gzip");
    const { answers } = JSON.parse(gunzipSync(await response.bytes()).toString());
    expect(answers).toHaveLength(1_000);
    const fields = Buffer.concat([gzipSync(`${ndjson(list)}\n`), gzipSync(ndjson(list))]);
    const streamed = await stream(GEO, fields, { ...gzip, "Accept-Encoding": "gzip" });
    expect(streamed.headers.get("content-encoding")).toBe("gzip");
    const pieces: Buffer[] = [];
    for await (const piece of streamed.body!) pieces.push(Buffer.from(piece));
    expect(gunzipSync(Buffer.concat(pieces)).toString()).toBe('{"city":{"name":"Boxford"}}\n'.repeat(2_000));
  });

  test.each([undefined, "identity", "gzip;q=0", "deflate", "gzipped", "*"])("not for %s", async (accept) => {
    const { values } = setUp();
    const response = await values(
      GEO,
      repeated(1_000, KNOWN),
      accept === undefined ? {} : { "Accept-Encoding": accept },
    );
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(await answersOf(response)).toHaveLength(1_000);
  });

  test("not for what is small", async () => {
    const { values } = setUp();
    const response = await values(GEO, [KNOWN], { "Accept-Encoding": "gzip" });
    expect(response.headers.get("content-encoding")).toBeNull();
  });

  test.each([
    ["cut in its checksum", (whole: Buffer) => whole.subarray(0, -2)],
    ["cut before its checksum", (whole: Buffer) => whole.subarray(0, -8)],
    ["of another checksum", (whole: Buffer) => whole.fill(0, whole.length - 8, whole.length - 4)],
    ["of another length", (whole: Buffer) => whole.fill(0, whole.length - 4)],
    ["followed by something else", (whole: Buffer) => Buffer.concat([whole, Buffer.from("more")])],
    ["followed by half a header", (whole: Buffer) => Buffer.concat([whole, whole.subarray(0, 5)])],
  ])("in a stream that is %s: the answers end with one problem", async (_, change) => {
    for (const count of [1, 5_000, 50_000]) {
      const { stream } = setUp();
      const body = change(gzipSync(`${ndjson(repeated(count, KNOWN))}\n`));
      const answers = await linesOf(await stream(GEO, body, gzip));
      expect(answers.pop()).toBe("BATCH_INVALID");
      expect(answers.length).toBeLessThanOrEqual(count);
      expect(answers.every((answer) => typeof answer === "object")).toBe(true);
    }
  });

  test("fields however they are cut into pieces, with all that a header may have", async () => {
    const plain = gzipSync(`${ndjson([KNOWN, KNOWN])}\n`);
    const full = Buffer.concat([
      Buffer.from([0x1f, 0x8b, 8, 4 + 8 + 16, 0, 0, 0, 0, 0, 3, 2, 0, 7, 7]), // two extra bytes
      Buffer.from("name\0comment\0"),
      plain.subarray(10),
    ]);
    const whole = Buffer.concat([full, plain, gzipSync(""), full]);
    for (const size of [1, 2, 7, 40, whole.length]) {
      const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
        whole.subarray(i * size, (i + 1) * size),
      );
      const body = new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(new Uint8Array(piece));
          controller.close();
        },
      });
      expect(await new Response(gunzipped(body)).text()).toBe(`${ndjson([KNOWN, KNOWN])}\n`.repeat(3));
    }
  });
});

describe("flags and countries are counted as those of single lookups", () => {
  const raised = ({ counts }: ReturnType<typeof setUp>) =>
    Object.fromEntries([...counts.flagRows()].filter(([, count]) => count > 0));

  test.each(["values", "stream"] as const)("%s", async (way) => {
    const send = async (setting: Parameters<typeof setUp>[0], path: string, values: string[]) => {
      const set = setUp(setting);
      await (way === "values" ? set.values(path, values) : set.stream(path, ndjson(values))).then((r) =>
        r.text(),
      );
      return set;
    };
    const flagged = raised(await send({}, REP, [KNOWN, "8.8.8.8", KNOWN, "x"]));
    expect(flagged).toEqual({ is_abuser: 2 });
    expect(raised(await send({}, `${REP}?include=evidence`, [KNOWN]))).toEqual({ is_abuser: 1 });
    expect(raised(await send({}, MAIL, ["a@mailinator.com", "b@gmail.com"]))).toEqual({ disposable: 1 });
    expect(raised(await send({ key: { mode: "test" } }, REP, ["192.0.2.2"]))).toEqual({});
  });
});

describe("limits", () => {
  const lookups = ({ recorded }: ReturnType<typeof setUp>) =>
    recorded.reduce((sum, [, count]) => sum + count, 0);

  test("JSON: what the bucket does not cover is refused one by one", async () => {
    const set = setUp({ rate: 1, burst: 5 });
    const response = await set.values(REP, repeated(8, KNOWN));
    expect(await answersOf(response)).toEqual([...repeated(5, ABUSER), ...repeated(3, "RATE_LIMITED")]);
    expect(response.headers.get("ratelimit")).toBe('"default";r=0;t=5');
    expect(lookups(set)).toBe(5);
    expect(set.refused).toEqual([["rate_limited", 3]]);
    expect((await set.values(REP, [KNOWN])).status).toBe(429);
    set.at.ms = 2_000;
    expect(await answersOf(await set.values(REP, repeated(3, KNOWN)))).toEqual([
      ABUSER,
      ABUSER,
      "RATE_LIMITED",
    ]);
  });

  test("JSON: refused values use the bucket, too; an empty list one token", async () => {
    const set = setUp({ rate: 1, burst: 5 });
    await set.values(REP, ["x", 5, "10.0.0.1"]);
    await set.values(REP, []);
    expect(await answersOf(await set.values(REP, [KNOWN, KNOWN]))).toEqual([ABUSER, "RATE_LIMITED"]);
    expect(lookups(set)).toBe(1);
  });

  test("JSON: what the quota does not cover is refused one by one", async () => {
    const set = setUp({ key: { quota: 10 }, used: 7 });
    const response = await set.values(REP, [KNOWN, "x", KNOWN, KNOWN, KNOWN, "x"]);
    const want = [ABUSER, "IP_ADDRESS_INVALID", ABUSER, ABUSER, "QUOTA_EXCEEDED", "QUOTA_EXCEEDED"];
    expect(await answersOf(response)).toEqual(want);
    expect(response.headers.get("ratelimit")).toStartWith('"daily";r=0;');
    expect(lookups(set)).toBe(3);
    expect(set.batched).toEqual([["reputation_batch", 3]]);
    expect(set.refused.flat()).toEqual(["quota_exceeded", 1, "quota_exceeded", 1]);
  });

  test("NDJSON: the quota used up refuses the rest", async () => {
    const set = setUp({ key: { quota: 1_000 }, used: 1 });
    const answers = await linesOf(await set.stream(REP, ndjson(repeated(1_500, KNOWN))));
    expect(answers.slice(0, 999)).toEqual(repeated(999, ABUSER));
    expect(answers.slice(999)).toEqual(repeated(501, "QUOTA_EXCEEDED"));
    expect(set.refused.length).toBe(501);
    expect(lookups(set)).toBe(999);
    expect(set.batched.reduce((sum, [, count]) => sum + count, 0)).toBe(999);
  });

  test("NDJSON: waits for the bucket, and for no other token than its own", async () => {
    const set = setUp({ rate: 100, burst: 10 });
    const reader = (await set.stream(REP, ndjson(repeated(35, KNOWN)))).body!.getReader();
    const counted: number[] = [];
    for (;;) {
      const reading = reader.read();
      if (counted.length > 0) set.at.ms += 50; // five tokens
      const { value } = await reading;
      if (value === undefined) break;
      counted.push(Buffer.from(value).toString().split("\n").length - 1);
    }
    expect(counted[0]).toBe(10);
    for (let i = 1, sum = 10; i < counted.length; i++) {
      sum += counted[i]!;
      expect(sum).toBeLessThanOrEqual(10 + 5 * i);
      if (sum < 35) expect(sum).toBeGreaterThanOrEqual(10 + 5 * i - 1); // rounding may delay a token
    }
    expect(lookups(set)).toBe(35);
  });

  test("NDJSON: lines that wait for the bucket are answered from the data of when it lets them", async () => {
    const set = setUp({ rate: 100, burst: 10 });
    const other = segment(JSON.stringify({ ...NO_FLAGS, is_proxy: true }), 2);
    const reader = (await set.stream(REP, ndjson(repeated(20, KNOWN)))).body!.getReader();
    const pieces: string[] = [];
    for (;;) {
      const reading = reader.read();
      if (pieces.length > 0) set.at.ms += 50;
      const { value } = await reading;
      if (value === undefined) break;
      pieces.push(Buffer.from(value).toString());
      set.at.ms += HOLD_MS;
      set.state.release = { ...set.state.release!, name: "b", reputation: other };
    }
    const lines = pieces
      .join("")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([...repeated(10, ABUSER), ...repeated(10, { ...CLEAN, is_proxy: true })]);
  });

  test.each([
    ["blank lines", "\n"],
    ["a line without end", "x"],
  ])("NDJSON: a body of %s costs rate, too", async (_, byte) => {
    const set = setUp({ rate: 1, burst: 4 });
    const body = Buffer.alloc(16 * 2 * MAX_LINE_BYTES, byte);
    const size = body.length / 64;
    let read = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      controller.enqueue(body.subarray(read * size, ++read * size));
    const stream = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const reader = (await set.stream(REP, stream)).body!.getReader();
    void reader.read();
    while (read < 5 * 4 + 1) await Bun.sleep(5);
    await Bun.sleep(100);
    expect(read).toBe(5 * 4 + 1); // the free part, the part that four tokens cover, and the first piece beyond it
    set.at.ms += 2_000;
    while (read < 7 * 4 + 1) await Bun.sleep(20); // the stream checks once a second
    await reader.cancel();
    expect(lookups(set)).toBe(0);
  });

  test("are counted in metrics, and the log has the number of values", async () => {
    const { values, stream, counts, lines, services } = setUp();
    await values(REP, [KNOWN, "8.8.8.8", "x"]);
    await textOf(await stream(GEO, ndjson([KNOWN, "8.8.8.8", "10.0.0.1", 5])));
    await Bun.sleep(0);
    expect([...counts.lookupRows()]).toEqual([
      { lookup: "geolocate", audience: "live", kind: "batch", count: 2 },
      { lookup: "reputation", audience: "live", kind: "batch", count: 2 },
    ]);
    expect([...counts.requestRows()]).toEqual([
      { route: GEO, status: "200", audience: "live", count: 1 },
      { route: REP, status: "200", audience: "live", count: 1 },
    ]);
    expect(new Map(counts.problemRows()).get("IP_ADDRESS_INVALID")).toBe(1);
    expect(new Map(counts.problemRows()).get("VALUE_INVALID")).toBe(1);
    services.log.flush();
    const entries = lines
      .join("")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(entries.map(({ route, values: count }) => [route, count])).toEqual([
      [REP, 3],
      [GEO, 4],
    ]);
  });
});

/** Creates a body whose chunks the test supplies. */
function fed() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (own) => {
      controller = own;
    },
  });
  return {
    body,
    feed: (text: string) => controller.enqueue(encode(text)),
    close: () => controller.close(),
    fail: () => controller.error(new Error("the client left")),
  };
}

describe("a stream while things change", () => {
  const send = async (set: ReturnType<typeof setUp>) => {
    const { body, feed, close } = fed();
    const response = await set.stream(GEO, body);
    const reader = response.body!.getReader();
    const next = async () => {
      const { value } = await reader.read();
      return value === undefined ? undefined : codes([JSON.parse(Buffer.from(value).toString())])[0];
    };
    const answer = (line: string) => {
      feed(line);
      return next();
    };
    return { response, answer, next, close, reader };
  };
  const place = (name: string) => ({ city: { name } });

  test("each line is answered as it comes", async () => {
    const { answer, close, next } = await send(setUp());
    expect(await answer(`"${KNOWN}"\n`)).toEqual(place("Boxford"));
    expect(await answer(`"${KNOWN}"\n"8`)).toEqual(place("Boxford"));
    expect(await answer('.8.8.8"\n')).toEqual("IP_ADDRESS_NOT_FOUND");
    close();
    expect(await next()).toBeUndefined();
  });

  test("stays with its release for a while, then takes the current one", async () => {
    const set = setUp();
    const { answer, response } = await send(set);
    expect(await answer(`"${KNOWN}"\n`)).toEqual(place("Boxford"));
    set.state.release = release("Newtown");
    set.at.ms = HOLD_MS - 1;
    expect(await answer(`"${KNOWN}"\n`)).toEqual(place("Boxford"));
    set.at.ms = HOLD_MS;
    expect(await answer(`"${KNOWN}"\n`)).toEqual(place("Newtown"));
    expect(response.headers.get("inkling-data-version")).toBe("Boxford");
  });

  test("does not keep its first release in memory after that, which would keep its files open", async () => {
    const set = setUp();
    const { answer, reader } = await send(set);
    const first = new WeakRef(set.state.release!);
    await answer(`"${KNOWN}"\n`);
    set.state.release = release("Newtown");
    set.at.ms = HOLD_MS;
    await answer(`"${KNOWN}"\n`);
    for (let i = 0; i < 50 && first.deref() !== undefined; i++) {
      await Bun.sleep(1); // a WeakRef keeps its target until the event loop continues
      Bun.gc(true);
    }
    expect(first.deref()).toBeUndefined();
    await reader.cancel();
  });

  test("takes overrides as they come", async () => {
    const set = setUp();
    const { body, feed } = fed();
    const reader = (await set.stream(REP, body)).body!.getReader();
    const next = async () => JSON.parse(Buffer.from((await reader.read()).value!).toString());
    feed(`"${KNOWN}"\n`);
    expect(await next()).toEqual(ABUSER);
    const override = {
      id: "ovr_1",
      kind: "address",
      value: KNOWN,
      flag: "is_abuser",
      verdict: false,
    };
    (set.services.overrides as { current: Overrides }).current = overridesOf([override as Override]);
    feed(`"${KNOWN}"\n`);
    expect(await next()).toEqual(CLEAN);
  });

  test.each([
    ["a key that was revoked", undefined, "KEY_INVALID"],
    ["a scope that was taken away", { scopes: ["email"] }, "SCOPE_REQUIRED"],
    [
      "a network that was set",
      { networks: [{ address: { family: 4, words: [1, 0, 0, 0] }, bits: 32 }] },
      "SOURCE_NOT_ALLOWED",
    ],
  ])("ends with a problem: %s", async (_, change, code) => {
    const set = setUp();
    const { answer, next } = await send(set);
    expect(await answer(`"${KNOWN}"\n`)).toEqual(place("Boxford"));
    set.state.key = change === undefined ? undefined : { ...KEY, ...(change as unknown as Partial<Key>) };
    set.at.ms = 1_000;
    expect(await answer(`"${KNOWN}"\n`)).toBe(code);
    expect(await next()).toBeUndefined();
  });

  test("a key that gets a limit is held to it", async () => {
    const set = setUp();
    const { answer } = await send(set);
    expect(await answer(`"${KNOWN}"\n`)).toEqual(place("Boxford"));
    set.state.key = { ...KEY, rate: 1, burst: 2 };
    set.at.ms = 1_000;
    await answer(`"${KNOWN}"\n`);
    await answer(`"${KNOWN}"\n`);
    await answer(`"${KNOWN}"\n`); // the token for this line was taken at the start
    let isAnswered = false;
    const late = answer(`"${KNOWN}"\n`).then(() => {
      isAnswered = true;
    });
    await Bun.sleep(100);
    expect(isAnswered).toBe(false);
    set.at.ms += 5_000;
    await late;
  });

  test("a client that leaves ends it, and what was answered is counted", async () => {
    const set = setUp();
    const { answer, reader } = await send(set);
    await answer(`"${KNOWN}"\n`);
    await reader.cancel();
    await Bun.sleep(0);
    set.services.log.flush();
    expect(set.recorded).toEqual([["geolocate", 1]]);
    expect(set.lines.join("")).toContain('"values":1');
  });
});

test("cuts anywhere in a stream change nothing", async () => {
  const line = fc.oneof(
    fc.constantFrom(KNOWN, "8.8.8.8", "me", "x", `::ffff:${KNOWN}`).map((text) => JSON.stringify(text)),
    fc.constantFrom("", " ", "5", "nope", '"\\u0038.8.8.8"', '"j\u00f6rg"', "\u00fc", '"', "\r"),
  );
  let cuts = 0;
  const property = fc.asyncProperty(
    fc.array(line, { minLength: 1, maxLength: 5 }),
    fc.constantFrom(GEO, REP, MAIL),
    fc.constantFrom("\n", "\r\n"),
    async (lines, path, end) => {
      const bytes = encode(lines.join(end));
      const want = await textOf(await setUp().stream(path, bytes));
      for (let cut = 1; cut < bytes.length; cut++) {
        const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
        const body = new ReadableStream({
          pull: (controller) => {
            const chunk = chunks.shift();
            if (chunk === undefined) controller.close();
            else controller.enqueue(chunk);
          },
        });
        expect(await textOf(await setUp().stream(path, body))).toBe(want);
        cuts++;
      }
    },
  );
  await fc.assert(property, { numRuns: 30 });
  expect(cuts).toBeGreaterThan(300);
});
