// Tests one delivery attempt against receivers that fail in every way, and which addresses a webhook may have.

import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseIp, specialUse } from "@inkling/engine";
import { addressesOf, readWebhookUrl } from "@inkling/operations/webhook-destination";
import fc from "fast-check";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import {
  type Receiver,
  startRawReceiver,
  startReceiver,
  verified,
} from "../../../../test/harness/webhook-receiver.ts";
import { type SendOptions, send } from "./send.ts";

const receivers: Receiver[] = [];
afterAll(() => Promise.all(receivers.map((receiver) => receiver.stop())));
const started = <T extends Receiver>(receiver: T): T => {
  receivers.push(receiver);
  return receiver;
};

const secretOf = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString("base64")}`;
const [SECRET, OLD_SECRET] = [secretOf("a"), secretOf("b")];
const MESSAGE = { id: "msg_0123456789abcdef", body: '{"type":"webhook.test","data":{"é":1}}' };

const sendTo = (url: string, over: Partial<SendOptions> = {}, allowPrivate = true, secrets = [SECRET]) =>
  send(
    {
      webhook: {
        id: "whk_0123456789abcdef",
        url,
        events: [],
        allowPrivate,
        author: "ada",
        createdAt: 0,
        oldSecretUntil: undefined,
        disabledAt: undefined,
      },
      secrets,
    },
    MESSAGE,
    { version: "1.2.3", now: Date.now, ...over },
  );

test("the npm package verifies a message, with either secret after a rotation, and nothing that was changed", async () => {
  const receiver = started(startReceiver());
  const attempt = await sendTo(receiver.url, {}, true, [SECRET, OLD_SECRET]);
  expect(attempt).toEqual({ outcome: "delivered", status: 200, reason: undefined });
  const [received] = receiver.received;
  expect({ ...received!.headers }).toMatchObject({
    "webhook-id": MESSAGE.id,
    "content-type": "application/json",
    "user-agent": "Inkling-Webhooks/1.2.3",
    "webhook-signature": expect.stringMatching(/^v1,\S+ v1,\S+$/),
  });
  for (const secret of [SECRET, OLD_SECRET])
    expect(verified(secret, received!)).toEqual(JSON.parse(MESSAGE.body));
  expect(() => verified(secretOf("c"), received!)).toThrow("No matching signature found");
  expect(() => verified(SECRET, { ...received!, body: `${received!.body} ` })).toThrow();
});

describe("a receiver that", () => {
  const EMPTY_200 = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  const target = started(startReceiver());
  const cases: readonly (readonly [name: string, answer: () => Response, expected: object])[] = [
    ["answers 204", () => new Response(null, { status: 204 }), { outcome: "delivered", status: 204 }],
    [
      "answers 500",
      () => new Response("", { status: 500 }),
      { outcome: "failed", status: 500, reason: "the receiver returned 500" },
    ],
    ["answers 410", () => new Response("", { status: 410 }), { outcome: "gone", status: 410 }],
    [
      "redirects",
      () => Response.redirect(target.url, 307),
      {
        outcome: "failed",
        status: 307,
        reason: "the receiver returned 307: Inkling does not follow redirects",
      },
    ],
  ];
  test.each(cases)("%s", async (_, answer, expected) => {
    const receiver = started(startReceiver(answer));
    expect(await sendTo(receiver.url)).toMatchObject(expected);
    expect([receiver.received.length, target.received.length]).toEqual([1, 0]);
  });

  test("never answers is given up, and so is one that answers byte by byte, or with another protocol", async () => {
    const silent = started(await startRawReceiver(() => {}));
    const slow = started(
      await startRawReceiver((socket) => {
        let at = 0;
        const timer = setInterval(() => socket.write(EMPTY_200[at++] ?? " "), 50);
        socket.on("close", () => clearInterval(timer));
      }),
    );
    const upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    const other = started(await startRawReceiver((socket) => socket.write(upgrade)));
    for (const { url } of [silent, slow, other]) {
      expect(await sendTo(url, { timeoutMs: 300 })).toEqual({
        outcome: "failed",
        status: undefined,
        reason: "the receiver did not respond within 0.3 s",
      });
    }
  });

  test("sends an endless body is cut off once its status is read", async () => {
    const closed = Promise.withResolvers<void>();
    let bytes = 0;
    const receiver = started(
      await startRawReceiver((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n");
        const chunk = Buffer.alloc(65_536);
        const pump = () => {
          while (!socket.destroyed && socket.write(chunk)) bytes += chunk.length;
        };
        socket.on("drain", pump).on("close", () => closed.resolve());
        pump();
      }),
    );
    expect(await sendTo(receiver.url)).toMatchObject({ outcome: "delivered", status: 200 });
    await closed.promise;
    expect(bytes).toBeLessThan(100_000_000);
  });

  test("speaks no HTTP, or hangs up, is a failure", async () => {
    const odd = started(await startRawReceiver((socket) => socket.end("220 mail.example ESMTP\r\n")));
    const gone = started(await startRawReceiver((socket) => socket.destroy()));
    for (const { url } of [odd, gone]) {
      expect(await sendTo(url)).toMatchObject({
        outcome: "failed",
        reason: expect.stringMatching(/^the connection failed: \w+$/),
      });
    }
  });

  test("has a certificate of nobody, or of another name, gets nothing; one with its own name does", async () => {
    const folder = temporaryFolder();
    const [keyFile, certFile] = [join(folder, "key"), join(folder, "cert")];
    const name = ["-subj", "/CN=hook.example", "-addext", "subjectAltName=DNS:hook.example"];
    const made = ["-keyout", keyFile, "-out", certFile, "-days", "2"];
    expect(
      spawnSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...made, ...name]).status,
    ).toBe(0);
    const [cert, key] = [readFileSync(certFile, "utf8"), readFileSync(keyFile, "utf8")];
    const receiver = started(startReceiver(undefined, { cert, key }));
    const at = (host: string) => receiver.url.replace("127.0.0.1", host);
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    const failed = { outcome: "failed", reason: expect.stringMatching(/CERT/) };
    expect(await sendTo(at("hook.example"), { resolve })).toMatchObject(failed);
    expect(await sendTo(at("other.example"), { resolve, ca: cert })).toMatchObject(failed);
    expect(receiver.received).toEqual([]);
    expect(await sendTo(at("hook.example"), { resolve, ca: cert })).toMatchObject({ outcome: "delivered" });
    expect(receiver.received[0]!.headers.host).toMatch(/^hook\.example:\d+$/);
  });
});

describe("an address that is not public", () => {
  test.each([
    "10.0.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "fe80::1",
    "fd00::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:7f00:1::1",
    "::7f00:1",
    "fe80::1%eth0",
  ])("%s of a host name is refused, also beside a public one", async (address) => {
    const receiver = started(startReceiver());
    const url = receiver.url.replace(/^http:\/\/127\.0\.0\.1/, "https://hook.example");
    const found = [
      { address: "93.184.215.14", family: 4 },
      { address, family: address.includes(":") ? 6 : 4 },
    ];
    expect(await sendTo(url, { resolve: async () => found }, false)).toMatchObject({
      outcome: "failed",
      status: undefined,
      reason: expect.stringMatching(/^its (address is|host name has an invalid address)/),
    });
    expect(receiver.received).toEqual([]);
  });

  test("a name that points elsewhere at each look is not looked up again after the check", async () => {
    const receiver = started(startReceiver());
    let looks = 0;
    const resolve = async () => {
      looks++;
      return [{ address: "127.0.0.1", family: 4 }];
    };
    await sendTo(receiver.url.replace("127.0.0.1", "hook.invalid"), { resolve });
    expect([looks, receiver.received.length]).toEqual([1, 1]);
  });

  test.each([
    ["https://[::ffff:10.0.0.1]/", false],
    ["https://2130706433/", false],
    ["https://0x7f.1/hook", false],
    ["http://example.com/", false],
    ["https://user:password@example.com/", true],
    ["https://example.com/#top", true],
    ["https://example.com/#", true],
    ["ftp://example.com/", true],
    ["example.com", true],
    ["", true],
  ])("%p is no URL of a webhook (private allowed: %p)", (url, allowPrivate) => {
    expect(readWebhookUrl(url, allowPrivate)).toEqual({ problem: expect.any(String) });
  });

  const SPELLINGS = [
    ...[
      "127.1",
      "127.0.1",
      "0177.0.0.1",
      "0x7f.0.0.1",
      "0x7f000001",
      "017700000001",
      "2130706433",
      "127.0.0.1.",
    ],
    ...[
      "0",
      "0.0.0.0",
      "10.1",
      "012.0.0.1",
      "0xa.0.0.1",
      "167772161",
      "169.254.43518",
      "2852039166",
      "0xa9fea9fe",
    ],
    ...["192.168.257", "0300.0250.0.1", "172.16.1", "100.64.1", "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1"],
    ...[
      "%31%32%37.0.0.1",
      "%30x7f.1",
      "127.0.0.1%2e",
      "[::]",
      "[::1]",
      "[0:0:0:0:0:0:0:1]",
      "[::ffff:127.0.0.1]",
    ],
    ...[
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
      "[64:ff9b::127.0.0.1]",
      "[2002:7f00:1::]",
      "[2002:a00:1::1]",
      "[fc00::1]",
    ],
    ...[
      "[fe80::1]",
      "[ff02::1]",
      "[2001:0:7f00:1::80ff:fffe]",
      "[2001:0:1:1:0:0:f5ff:fffe]",
      "[2001:db8::1]",
    ],
    ...["224.0.0.1", "255.255.255.255", "198.18.0.1", "203.0.113.1", "192.0.0.8", "240.1"],
  ];
  test.each(SPELLINGS)("%s is an inner address in every spelling", (host) => {
    for (const url of [
      `https://${host}/hook`,
      `https://${host}:8443/hook`,
      `HTTPS://${host}`,
      `https:\\\\${host}/hook`,
    ])
      expect([url, readWebhookUrl(url, false)]).toEqual([url, { problem: expect.any(String) }]);
  });

  test("a URL may have 2,048 characters", () => {
    const url = `https://example.com/${"a".repeat(2_048)}`;
    expect(readWebhookUrl(url, true)).toEqual({ problem: "must have at most 2048 characters" });
    expect(readWebhookUrl(url.slice(0, 2_048), true)).toEqual({ url: url.slice(0, 2_048) });
  });

  test("with the operator's word plain http and inner addresses are taken", () => {
    expect(readWebhookUrl("http://10.0.0.1:8080/hook", true)).toEqual({ url: "http://10.0.0.1:8080/hook" });
    expect(readWebhookUrl("https://EXAMPLE.com", false)).toEqual({ url: "https://example.com/" });
  });

  test("whatever the text, what is taken names no special-use address, and reading it again changes nothing", async () => {
    const part = fc.oneof(
      fc.webUrl(),
      fc.ipV4().map((ip) => `https://${ip}/`),
      fc.ipV6().map((ip) => `https://[${ip}]/`),
      fc.ipV4().map((ip) => `https://[::ffff:${ip}]/`),
      fc.nat({ max: 0xffffffff }).map((n) => `https://${n}`),
      fc.string().map((text) => `https://${text}`),
      fc.string({ unit: "binary" }),
    );
    await fc.assert(
      fc.asyncProperty(part, fc.boolean(), async (text, allowPrivate) => {
        const read = readWebhookUrl(text, allowPrivate);
        if ("problem" in read) return;
        expect(readWebhookUrl(read.url, allowPrivate)).toEqual(read);
        if (allowPrivate) return;
        const url = new URL(read.url);
        expect(url.protocol).toBe("https:");
        const host = url.hostname.replace(/[[\]]/g, "");
        const address = parseIp(host);
        if (address === undefined) return;
        expect(["reserved", undefined]).toContain(specialUse(address)?.use); // IPv4 inside IPv6
        expect(await addressesOf(host, false, async () => [])).toHaveProperty("addresses");
      }),
      { numRuns: 3_000 },
    );
  });
});
