// Tests what download returns or throws, for valid and faulty publishers.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import { type Download, download } from "./fetch.ts";
import {
  ETAG,
  LAST_MODIFIED,
  LIST,
  type Publisher,
  type Script,
  startPublisher,
  startRaw,
  startScript,
} from "./publisher.testing.ts";

let publisher: Publisher;
beforeAll(async () => {
  publisher = await startPublisher();
});
afterAll(async () => {
  await publisher.stop();
});

const get = (path: string, more: Partial<Download> = {}) =>
  download({
    url: path.startsWith("http") ? path : publisher.base + path,
    maxBytes: 100_000,
    times: { responseMs: 60_000, totalMs: 60_000 },
    allowHttp: false,
    ...more,
  });

const text = async (path: string, more?: Partial<Download>) =>
  Buffer.from((await get(path, more))!.bytes).toString();

/** Requests `path` and returns the error that the request ends with. */
const problem = async (path: string, more: Partial<Download> = {}): Promise<Error> => {
  const error = await get(path, more).then(
    () => new Error("no error"),
    (caught) => caught,
  );
  expect(error).toHaveProperty("name", "FeedError");
  return error;
};

describe("successful responses", () => {
  test.each([
    ["plain", "/good"],
    ["a gzip file", "/gzip"],
    ["packed for transfer", "/encoded"],
    ["a gzip file packed for transfer", "/twice"],
    ["behind five redirects", "/hops/5"],
  ])("%s", async (_name, path) => {
    expect(await text(path)).toBe(LIST);
  });
  test("the response's validators are returned, and the User-Agent is sent", async () => {
    expect(await get("/good")).toMatchObject({ etag: ETAG, lastModified: LAST_MODIFIED });
    expect(publisher.requests.at(-1)).toMatchObject({ userAgent: expect.stringMatching(/^Inkling\/\d/) });
    expect(publisher.requests.at(-1)!.ifNoneMatch).toBeUndefined();
  });
  test.each([
    ["for good, in two steps: the last URL without its query", "/moved", "/good"],
    ["for good, to a URL too long to show", "/moved-far", undefined],
    ["only for now", "/hops/2", undefined],
    ["for now, to a URL that has moved for good", "/moved-for-now", undefined],
  ])("moved %s", async (_name, path, movedTo) => {
    expect((await get(path))?.movedTo).toBe(movedTo && new URL(movedTo, publisher.base).href);
  });
  test("not modified", async () => {
    expect(await get("/good", { validators: { etag: ETAG } })).toBeUndefined();
  });
  test("modified since", async () => {
    expect(await text("/good", { validators: { etag: '"v0"' } })).toBe(LIST);
  });
  test("an empty body and one of a single byte arrive as they are: parsers judge them", async () => {
    expect(await text("/empty")).toBe("");
    expect(await text("/one-byte")).toBe("1");
  });
});

describe("failing responses", () => {
  const quick = { times: { responseMs: 50, totalMs: 100 } };
  const patient = { times: { responseMs: 60_000, totalMs: 100 } };
  const rows: readonly [name: string, path: string, message: RegExp, more?: Partial<Download>][] = [
    ["not found", "/nothing", /^answered 404 Not Found$/],
    ["forbidden", "/403", /^answered 403 Forbidden$/],
    ["broken", "/500", /^answered 500 Internal Server Error$/],
    ["not modified, to an unconditional request", "/304", /^answered 304/],
    ["a redirect without a location", "/to-nowhere", /^answered 302/],
    ["six redirects", "/hops/6", /^redirects more than 5 times$/],
    ["a redirect to FTP", "/to-ftp", /^redirects to a URL that is not HTTPS$/],
    ["a redirect to another host", "/to-http", /^redirects to a host that is not allowed$/],
    [
      "a mirror's redirect to another port of its host",
      "/to-loopback",
      /^redirects to a host that is not allowed$/,
      { allowHttp: true },
    ],
    [
      "a redirect to a named host whose address is private",
      "/to-loopback",
      /^redirects to an address that is not public$/,
      { redirects: ["127.0.0.1:1"] },
    ],
    [
      "a redirect to a named host of which one address is link-local",
      "/to-http",
      /^redirects to an address that is not public$/,
      { redirects: ["publisher.example"], resolve: async () => ["8.8.8.8", "fe80::1%eth0"] },
    ],
    ["a redirect to nonsense", "/to-nonsense", /^redirects to an invalid URL$/],
    ["too large", "/large", /^is larger than 100000 bytes$/],
    ["a gzip bomb", "/bomb", /^is larger than 100000 bytes$/],
    ["cut gzip", "/cut-gzip", /^is a damaged or truncated gzip file$/],
    ["cut gzip, packed for transfer", "/cut-encoded", /^is a damaged or truncated gzip file$/],
    ["a gzip bomb, packed for transfer", "/bomb-encoded", /^is larger than 100000 bytes$/],
    ["damaged gzip", "/damaged-gzip", /^is a damaged or truncated gzip file$/],
    ["no answer", "/silent", /^could not be reached: no response within 50 ms$/, quick],
    ["an answer that drips", "/drip", /^took longer than 100 ms$/, patient],
    [
      "an answer that stops",
      "/stops",
      /^sent nothing for 1000 ms$/,
      { times: { responseMs: 1_000, totalMs: 5_000 } },
    ],
    [
      "one that has not arrived at the deadline",
      "/drip",
      /^has not arrived yet/,
      { deadline: performance.now() + 100 },
    ],
    ["plain HTTP", "http://publisher.example/", /^is at http:\/\/publisher\.example, which is not HTTPS$/],
    ["connection refused", "http://127.0.0.1:1/", /^could not be reached: connection refused$/],
  ];
  test.each(rows.map((row) => [row[0], row] as const))("%s", async (_name, [, path, message, more]) => {
    expect((await problem(path, more)).message).toMatch(message);
  });
  test("HTTPS is never downgraded, not even for a mirror", async () => {
    // There is no certificate for a real HTTPS server, so the test replaces fetch. The first hop is HTTPS.
    const real = globalThis.fetch;
    const fake = async () => Response.redirect("http://mirror.example/list", 302);
    globalThis.fetch = Object.assign(fake, { preconnect: real.preconnect });
    try {
      const { message } = await problem("https://mirror.example/list", { allowHttp: true });
      expect(message).toBe("redirects to a URL that is not HTTPS");
    } finally {
      globalThis.fetch = real;
    }
  });
  const cut: readonly [name: string, answer: string, message: RegExp][] = [
    [
      "less than announced",
      "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n192.0.2.1\n",
      /^could not be fetched: /,
    ],
    [
      "a chunk cut off",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n192.0.2.1\n",
      /could not be fetched/,
    ],
    ["no HTTP at all", "220 ftp.example ready\r\n", /could not be fetched/],
    ["silence and a hang-up", "", /could not be fetched/],
  ];
  test.each(cut)("%s", async (_name, answer, message) => {
    const raw = await startRaw(answer);
    try {
      expect((await problem(raw.base)).message).toMatch(message);
    } finally {
      await raw.stop();
    }
  });
});

describe("a publisher with credentials", () => {
  let script: Script;
  let elsewhere: Script;
  const seen: string[] = [];
  beforeAll(async () => {
    script = await startScript();
    elsewhere = await startScript();
  });
  afterAll(() => Promise.all([script.stop(), elsewhere.stop()]));
  beforeEach(() => {
    seen.length = 0;
    const record = (who: string, request: IncomingMessage) =>
      seen.push(`${who} ${request.url} ${request.headers.authorization ?? "-"}`);
    script.answer = (request, response) => {
      record("publisher", request);
      if (request.url === "/moved") response.writeHead(302, { location: `${elsewhere.base}/file` }).end();
      else response.end(gzipSync(LIST));
    };
    elsewhere.answer = (request, response) => {
      record("elsewhere", request);
      response.end(gzipSync(LIST));
    };
  });
  const headers = { authorization: "Basic secret" };

  test("credentials are sent only to the publisher's origin, whatever it redirects to", async () => {
    const moved = await text(`${script.base}/moved`, {
      headers,
      redirects: [new URL(elsewhere.base).host],
      resolve: async () => ["8.8.8.8"],
    });
    expect(moved).toBe(LIST);
    expect(seen).toEqual(["publisher /moved Basic secret", "elsewhere /file -"]);
  });
});
