// Compares batches, whose values are looked up in blocks, with single requests. The bytes, their order, the
// counts and the charges are the same, however the body arrives.

import { expect, test } from "bun:test";
import { openRelease, requireCurrentName } from "@inkling/data";
import { BLOCK_ADDRESSES, type Override, Overrides } from "@inkling/engine";
import fc from "fast-check";
import { App } from "../../../packages/server/src/api/app.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { share } from "../../harness/share.ts";
import { KEY, testServices } from "../../harness/thread-services.ts";

const data = temporaryFolder();
smallRelease(data, 2, [], [], true); // its network is a Tor exit
const release = openRelease(data, requireCurrentName(data));
const listed = (last: number) => SMALL_NETWORK.replace("0/24", String(last));
const override = {
  id: "ovr_1",
  kind: "network",
  value: SMALL_NETWORK.replace("0/24", "0/25"),
  flag: "is_abuser",
  verdict: true,
} as Override;

const byte = fc.nat(255);
const ADDRESS = fc.oneof(
  byte.map(listed),
  byte.map((last) => `::ffff:${listed(last)}`),
  byte.map((last) => `2002:5102:45${last.toString(16).padStart(2, "0")}::1`),
  byte.map((last) => `2a02:8010::${last.toString(16)}`),
  fc.tuple(fc.integer({ min: 1, max: 223 }), byte, byte, byte).map((bytes) => bytes.join(".")),
  byte.map((last) => `10.0.0.${last}`),
  fc.constantFrom(
    "::1",
    "2001:db8::1",
    "me",
    "256.1.1.1",
    "1.2.3",
    "01.2.3.4",
    " 8.8.8.8",
    "jörg",
    '"',
    "x\\y",
  ),
);
const VALUE = fc.oneof(
  { weight: 20, arbitrary: ADDRESS },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(5, null, ["8.8.8.8"], { value: "8.8.8.8" }) },
);

/** Returns a separate server, and everything that it counted. */
function setUp(overrides: readonly Override[]) {
  const { services, ...seen } = testServices(
    {
      release: release,
      authenticate: () => ({ ok: true, key: KEY }),
      overrides: { current: new Overrides(overrides, () => "") },
    },
    (_, counted, count) => [counted, count] as const,
  );
  const app = new App(services);
  const send = (path: string, init: RequestInit = {}) =>
    app.handle(new Request(`http://test${path}`, { headers: { Authorization: "Bearer x" }, ...init }), {
      requestIP: () => ({ address: listed(200) }),
    });
  const post = (path: string, type: string, body: string | ReadableStream) => {
    const headers = { Authorization: "Bearer x", "Content-Type": type };
    return send(path, { method: "POST", headers, body, duplex: "half" } as RequestInit);
  };
  const counted = () => ({
    lookups: seen.recorded.reduce((sum, [, count]) => sum + count, 0),
    flags: [...seen.counts.flagRows()],
    countries: [...seen.counts.countryRows()],
    problems: [...seen.counts.problemRows()],
  });
  return { send, post, counted };
}

/** Returns a body in pieces of these sizes, used in turn. */
function inPieces(text: string, sizes: readonly number[]): ReadableStream {
  const bytes = Buffer.from(text);
  let [at, turn] = [0, 0];
  return new ReadableStream({
    pull: (controller) => {
      const end = at + sizes[turn++ % sizes.length]!;
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, end));
      else controller.close();
      at = end;
    },
  });
}

async function textOf(response: Response): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response.body!) pieces.push(Buffer.from(piece)); // the buffer is overwritten later
  return Buffer.concat(pieces).toString();
}

const LOOKUPS = ["/v1/ip-intel/geolocate", "/v1/ip-intel/reputation"] as const;
const INCLUDES = ["", "?include=evidence", "?include=network", "?include=evidence,network,subject"] as const;

/** A field that problems in a batch do not have. */
const REQUEST_ID = ',"request_id":"aaaaaaaaaa"';

test("a batch is what single requests answer, and counts it alike", async () => {
  const seen = new Set<string>();
  let long = 0;
  const property = fc.asyncProperty(
    fc.array(VALUE, { maxLength: 150, size: "max" }),
    fc.constantFrom(...LOOKUPS),
    fc.constantFrom("", "", ...INCLUDES),
    fc.constantFrom<readonly Override[]>([], [override]),
    fc.array(fc.integer({ min: 1, max: 1_500 }), { minLength: 1, maxLength: 4 }),
    async (values, path, include, overrides, sizes) => {
      if (values.length > BLOCK_ADDRESSES) long++;
      const single = setUp(overrides);
      const want: string[] = [];
      for (const value of values) {
        const response =
          typeof value === "string"
            ? await single.send(`${path}/${encodeURIComponent(value)}${include}`)
            : await single.post(path + include, "application/x-ndjson", JSON.stringify(value));
        want.push((await textOf(response)).trimEnd().replace(REQUEST_ID, ""));
      }
      for (const answer of want) seen.add(answer);
      const ndjson = values.map((value) => `${JSON.stringify(value)}\n`).join("");
      const ways: readonly [type: string, body: string | ReadableStream, want: string][] = [
        ["application/x-ndjson", ndjson, want.map((answer) => `${answer}\n`).join("")],
        ["application/x-ndjson", inPieces(ndjson, sizes), want.map((answer) => `${answer}\n`).join("")],
        ["application/json", JSON.stringify({ values }), `{"answers":[${want.join(",")}]}`],
      ];
      for (const [type, body, text] of ways) {
        const batch = setUp(overrides);
        expect(await textOf(await batch.post(path + include, type, body))).toBe(text);
        expect(batch.counted()).toEqual(single.counted());
      }
    },
  );
  await fc.assert(property, { numRuns: share(300, 20), seed: 1, endOnFailure: true });
  expect(seen.size).toBeGreaterThan(50);
  expect(long).toBeGreaterThan(5);
});
