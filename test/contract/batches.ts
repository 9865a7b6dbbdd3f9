// batches.ts: the contract test's requests with many values.

import { gzipSync } from "node:zlib";
import type { Request } from "./exchange.ts";
import { times } from "./random.ts";
import {
  EVIDENCE,
  get,
  JSON_TYPE,
  LINES_TYPE,
  LOOKUPS,
  MAIL,
  post,
  sampleOf,
  values,
  withMethod,
} from "./rows.ts";
import { METHODS, QUERIES } from "./values.ts";

export function batches(): Request[] {
  const bodies = [
    "",
    "{}",
    "[]",
    "null",
    '"8.8.8.8"',
    "{",
    '{"values":[]}',
    '{"values":{}}',
    '{"values":null}',
    '{"values":["8.8.8.8"]',
    '{"values":["8.8.8.8"],"x":1}',
    '{"values":["8.8.8.8"],"values":["81.2.69.10"]}',
    '{"value":["8.8.8.8"]}',
    '\ufeff{"values":["8.8.8.8"]}',
    ' { "values" : [ "8.8.8.8" , "me" ] } ',
    values(
      "8.8.8.8",
      1,
      null,
      true,
      {},
      [],
      "",
      "me",
      "10.0.0.1",
      "nonsense",
      "81.2.69.10",
      "81.2.70.9",
      "jane@gmail.com",
      "a@our-shop.com",
      "2a01:4f8:1::1",
      "::ffff:81.2.69.10",
    ),
    values(...times(1000, (n) => `81.2.${n >> 8}.${n & 255}`)),
    values(...times(1001, () => "8.8.8.8")),
    values("\ud800", "\u0000", "8.8.8.8\n", "%38.8.8.8"),
  ];
  const lines = [
    "",
    "\n",
    "\n\n\r\n",
    '"8.8.8.8"',
    '"8.8.8.8"\n',
    '"8.8.8.8"\r\n"81.2.69.10"\r\n',
    '"8.8.8.8"\n\n"10.0.0.1"\nnonsense\n1\nnull\n{}\n[]\n"me"\n"jane@gmail.com"',
    '"8.8.8.8" "8.8.8.8"\n"a',
    ' "8.8.8.8" \n\t"81.2.69.10"',
    `"${"a".repeat(70_000)}"\n"8.8.8.8"`,
    `"${"a".repeat(65_000)}@gmail.com"`,
    times(2_000, (n) => `"81.2.${n >> 8}.${n & 255}"`).join("\n"),
    '"\\u0038.8.8.8"\n"\\ud800"',
  ];
  const types = [
    "",
    "text/plain",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "application/json; charset=latin1",
    "Application/JSON",
    "application/x-ndjson; charset=utf-8",
    "application/ndjson",
    "application/json, application/json",
    "application/vnd.api+json",
  ];
  const invalidUtf8 = Buffer.from([
    0x22, 0xff, 0xfe, 0x22, 0x0a, 0x22, 0x38, 0x2e, 0x38, 0x2e, 0x38, 0x2e, 0x38, 0x22,
  ]);
  const gzip = (text: string) => gzipSync(text, { level: 9 });
  const packed = gzip('"8.8.8.8"\n"81.2.69.10"\n');
  const encodedBody = (path: string, type: string, bytes: Buffer, coding = "gzip"): Request => {
    const { body: _, ...rest } = post(path, "", {
      headers: [type, `Content-Encoding: ${coding}`],
      body64: bytes.toString("base64"),
    });
    return rest;
  };
  return LOOKUPS.flatMap((path) => [
    ...bodies.flatMap((body) => [
      post(path, body),
      post(path + EVIDENCE, body.length > 5_000 ? values("81.2.69.10") : body),
    ]),
    ...lines.map((body) => post(path, body, { headers: [LINES_TYPE] })),
    post(path + EVIDENCE, lines[6] ?? "", { headers: [LINES_TYPE] }),
    ...types.map((type) => post(path, values("8.8.8.8"), { headers: [`Content-Type: ${type}`] })),
    post(path, values("8.8.8.8"), { headers: [] }),
    ...QUERIES.filter((query) => path !== MAIL || !query.includes("checks=mx")).map((query) =>
      post(path + query, values("81.2.69.10")),
    ),
    ...["partial", "lenient", "empty"].flatMap((server) => [
      post(path, values(sampleOf(path), "10.0.0.1"), { server: server as "partial" }),
      post(path, `"${sampleOf(path)}"\n"x"`, { server: server as "partial", headers: [LINES_TYPE] }),
    ]),
    ...["emailOnly", "expired", "elsewhere", "revoked", "slow"].map((key) =>
      post(path, values("8.8.8.8"), { key }),
    ),
    ...[2, 2, 2, 2].map((count) =>
      post(path, values(...times(count, () => sampleOf(path))), { key: "slowBatch" }),
    ),
    ...[3, 3].map((count) =>
      post(path, values(...times(count, () => sampleOf(path))), { key: "spentBatch" }),
    ),
    post(path, times(3, () => `"${sampleOf(path)}"`).join("\n"), {
      key: "spentBatch",
      headers: [LINES_TYPE],
      server: "lenient",
    }),
    post(path, times(3, () => `"${sampleOf(path)}"`).join("\n"), { key: "limited", headers: [LINES_TYPE] }),
    post(path, values("8.8.8.8", "10.0.0.1"), { key: "limited" }),
    ...METHODS.filter((method) => method !== "POST").map((method) => withMethod(method, path)),
    encodedBody(path, JSON_TYPE, gzip(values("81.2.69.10", "jane@gmail.com"))),
    encodedBody(path, LINES_TYPE, packed),
    encodedBody(path, LINES_TYPE, Buffer.concat([packed, packed])),
    encodedBody(path, LINES_TYPE, packed.subarray(0, -9)),
    encodedBody(path, LINES_TYPE, Buffer.from("no gzip")),
    encodedBody(path, JSON_TYPE, Buffer.from("no gzip")),
    encodedBody(path, JSON_TYPE, packed, "br"),
    encodedBody(path, JSON_TYPE, gzip(values("8.8.8.8")).subarray(0, -4)),
    encodedBody(path, JSON_TYPE, gzip(`{"values":["${"a".repeat(2_000_000)}"]}`)),
    encodedBody(path, LINES_TYPE, invalidUtf8, "identity"),
    encodedBody(path, JSON_TYPE, invalidUtf8, "identity"),
    post(path, values("81.2.69.10"), { headers: [JSON_TYPE, "Accept-Encoding: gzip"] }),
    post(path, '"81.2.69.10"\n"8.8.8.8"', { headers: [LINES_TYPE, "Accept-Encoding: gzip, br"] }),
    post(path, "14\r\n" + '{"values":["8.8.8.8"' + "\r\n2\r\n]}\r\n0\r\n\r\n", {
      headers: [JSON_TYPE, "Transfer-Encoding: chunked"],
    }),
    post(path, 'b\r\n"8.8.8.8"\n\n\r\n0\r\n\r\n', { headers: [LINES_TYPE, "Transfer-Encoding: chunked"] }),
    // The length is announced but no body is sent, so the server must refuse the request by the announced length.
    post(path, "", { headers: [JSON_TYPE, "Content-Length: 1048577"] }),
    post(path, "", { headers: [JSON_TYPE, "Content-Length: 99999999"], key: "expired" }),
    withMethod("POST", `${path}/${sampleOf(path)}`, { headers: ["Content-Length: 9000"] }),
    withMethod("PUT", `${path}/${sampleOf(path)}`, { headers: ["Content-Length: 70000"] }),
    withMethod("PUT", `${path}/${sampleOf(path)}`, { body: "x".repeat(9_000) }),
    get(`${path}/${sampleOf(path)}`, { body: "ignored" }),
    post(`${path}/`, values("8.8.8.8")),
    post(`${path}/8.8.8.8`, values("8.8.8.8")),
  ]).concat([
    post(`${MAIL}?checks=mx`, values("a@localhost")),
    post(`${MAIL}?checks=mx`, values("a@localhost", "b@localhost")),
    post(`${MAIL}?checks=mx`, '"a@localhost"', { headers: [LINES_TYPE] }),
  ]);
}
