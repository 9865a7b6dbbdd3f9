// Fuzzes webhooks: the URL that an admin sends, the decision behind an event, and the receiver's response.
//
// A URL is refused with the documented problems or accepted, and no inner address is contacted. A delivery is sent
// once, verifies with the `standardwebhooks` package, leaves no connection, and ends in the state that the response
// calls for.

import { deepStrictEqual, match } from "node:assert";
import { BlockList, isIP, type Socket } from "node:net";
import { type EmailVerdict, type EvidenceEntry, WEBHOOK_WAITS_SECONDS } from "@inkling/contract";
import { Overrides, parseEmail } from "@inkling/engine";
import { DEFAULT_RULESET, readDecisionInput } from "@inkling/engine/assess";
import { hostOf } from "../../../packages/operations/src/webhook-destination.ts";
import { WebhookEvents } from "../../../packages/server/src/webhooks/events.ts";
import { send } from "../../../packages/server/src/webhooks/send.ts";
import { WebhookSender } from "../../../packages/server/src/webhooks/sender.ts";
import { adminServer, closeAdminServers } from "../../harness/admin-server.ts";
import { decisionRow } from "../../harness/decision-rows.ts";
import { until } from "../../harness/until.ts";
import { startRawReceiver, verified } from "../../harness/webhook-receiver.ts";
import type { Target } from "../target.ts";

const EVENT = "decision.changed";
const RELEASE = "3c05d22e1399";
const SECRET = "whsec_AAAA";
/** Codes for a refused URL. */
const REFUSALS = new Set(["BODY_INVALID", "CONTENT_TOO_LARGE", "WEBHOOK_URL_REFUSED"]);
/** Timeout for a receiver that never answers. */
const TIMEOUT_MS = 150;

/**
 * Addresses that only this host reaches, from a second source that does not parse them as the server does.
 */
const INNER = new BlockList();
for (const range of [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 224.0.0.0/4",
  "::/127 fc00::/7 fe80::/10 ff00::/8 ::127.0.0.0/104 ::10.0.0.0/104 64:ff9b::127.0.0.0/104 2002:7f00::/24",
].flatMap((ranges) => ranges.split(" "))) {
  const [address, bits] = range.split("/") as [string, string];
  INNER.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6");
}

function isInner(host: string): boolean {
  const family = isIP(host);
  return family !== 0 && INNER.check(host, family === 4 ? "ipv4" : "ipv6");
}

/** Addresses that the attacker's names point to. */
const NAMES_TO = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "fe80::1%lo", "64:ff9b::7f00:1"];

const ENDINGS: Readonly<Record<string, (socket: Socket) => unknown>> = {
  end: (socket) => socket.end(),
  reset: (socket) => socket.resetAndDestroy(),
  hold: () => {},
  endless: (socket) => {
    const chunk = Buffer.alloc(65_536, "0\r\n");
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", pump);
    pump();
  },
};

const URLS = [
  "https://example.com:8443/hooks/inkling?a=%20",
  "https://127.0.0.1:{port}/hook",
  "https://0x7f.1:{port}/",
  "https://[::ffff:7f00:1]:{port}/",
  "https://[::1%25lo]:{port}/",
  "https://localhost.:{port}/hook",
  "https://xn--bcher-kva.example/ö",
  "https://user:secret@ⓔxample.com/#top",
  `https://example.com/${"a".repeat(2_020)}`,
  "http://2130706433:{port}/",
];
const ANSWERS = [
  "end\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
  "end\nHTTP/1.1 204 No Content\r\n\r\n",
  "end\nHTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
  "end\nHTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:{port}/inner\r\nContent-Length: 0\r\n\r\n",
  "end\nHTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nx",
  "end\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n",
  "hold\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  "endless\nHTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
  "endless\nHTTP/1.1 200 OK\r\nX: ",
  "reset\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx",
  "hold\nHTTP/1.1 2",
];
const VISITORS = [
  "example.com user-81\nlisted as throwaway",
  "bücher.example \u202eüser <b>\"'\nfirst \\u0000 \u2028 second",
];

const CORPUS = ANSWERS.map((answer, i) =>
  Buffer.from(`${URLS[i % URLS.length]}\n${VISITORS[i % VISITORS.length]}\n${answer}`),
);
const TOKENS = [
  "https://",
  "127.1",
  "0177.0.0.1",
  "[::1]",
  "[fe80::1%25lo]",
  "①②⑦.⓪.⓪.①",
  "localhost",
  ":{port}",
  "@",
  "%00",
  "xn--",
  "\\",
  "\n",
  "\r\n\r\n",
  "HTTP/1.1 200 OK\r\n",
  "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:{port}/inner\r\n\r\n",
  "Content-Length: 5\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Connection: keep-alive\r\n",
  "Upgrade: h2c\r\n",
].map((token) => Buffer.from(token).toString("latin1"));

export default async function webhooks(): Promise<Target> {
  const admin = await adminServer();
  const { ask, store, clock } = admin;
  const now = () => clock.now;
  /** Answers the deliveries of the current case. */
  let answer: (socket: Socket) => unknown = () => {};
  const receiver = await startRawReceiver((socket) => answer(socket));
  /** The last verdict reported for each domain. */
  const told = new Map<string, boolean>();
  let cases = 0;

  /** @returns what happened to the URL */
  async function checkUrl(url: string): Promise<string> {
    const before = receiver.connections;
    const { status, code, document } = await ask("POST", "webhooks", { url, events: [EVENT] });
    const isTaken = status === 201;
    if (isTaken) await ask("DELETE", `webhooks/${document.id}`);
    else if (!REFUSALS.has(code))
      throw new Error(`${status} ${code} to the URL ${JSON.stringify(url.slice(0, 200))}`);
    const read = URL.canParse(url) ? new URL(isTaken ? document.url : url) : undefined;
    if (read === undefined || !/^https?:$/.test(read.protocol)) return "refused";
    const host = hostOf(read);
    if (isTaken && isInner(host)) throw new Error(`the inner address ${host} is taken`);
    // A public address would really be contacted.
    if (isIP(host) !== 0 && !isInner(host)) return isTaken ? "of an address" : "refused";
    // A refused URL may come from a backup, so sending must refuse it as well.
    const address = NAMES_TO[cases % NAMES_TO.length]!;
    const webhook = {
      id: "whk_0",
      url: read.href,
      events: [],
      allowPrivate: false,
      author: "",
      createdAt: 0,
    };
    const { outcome, reason = "" } = await send(
      { webhook: { ...webhook, oldSecretUntil: undefined, disabledAt: undefined }, secrets: [SECRET] },
      { id: "msg_0", body: "{}" },
      {
        version: "0",
        now: Date.now,
        timeoutMs: TIMEOUT_MS,
        resolve: async () => [{ address, family: address.includes(":") ? 6 : 4 }],
      },
    );
    if (outcome !== "failed" || !reason.startsWith("its ") || receiver.connections > before)
      throw new Error(`${read.href} at ${address}: ${outcome}, ${reason}`);
    return isTaken ? "of a name" : "refused";
  }

  /**
   * Reports one decision.
   * @returns what happened to the delivery
   */
  async function checkDelivery(visitor: string, text: string, answered: string): Promise<string> {
    receiver.received.length = 0;
    const before = receiver.connections;
    const wanted = { url: receiver.url, events: [EVENT], allow_private: true };
    const { id, secret } = (await ask("POST", "webhooks", wanted)).document;
    const { domain, ref } = visitorOf(visitor);
    const disposable = told.get(domain) ?? false;
    const facts = JSON.stringify({ "email.domain": domain, "email.disposable": disposable });
    const row = decisionRow(cases, now(), { ref, email_domain: domain, facts });
    await store.decisions.add([row]);
    const evidence: EvidenceEntry[] = [{ feed: text, label: text, effect: "sets" }];
    const after = { valid: true, disposable: !disposable, providers: [], evidence };
    await deliver([after]);
    told.set(domain, !disposable);
    await until(() => receiver.open === 0);
    const deliveries = (await ask("GET", `webhooks/${id}/deliveries`)).document.deliveries;
    const { disabled_at: disabledAt } = (await ask("GET", `webhooks/${id}`)).document;
    await ask("DELETE", `webhooks/${id}`);
    await store.decisions.delete({ before: now() + 1 }, { author: "fuzz", source: undefined });
    deepStrictEqual([receiver.received.length, deliveries.length, receiver.connections - before], [1, 1, 1]);
    const { type, data } = verified(secret, receiver.received[0]!) as { type: string; data: object };
    deepStrictEqual([receiver.received[0]!.path, type], ["/hook", EVENT]);
    const verdicts = { before: { disposable }, after: { disposable: !disposable } };
    deepStrictEqual(data, { id: row.id, ref, domain, ...verdicts, evidence, data_version: RELEASE });
    checkState(deliveries[0], disabledAt, answered, now());
    return deliveries[0].last_attempt.outcome;
  }

  /** Delivers as a server does, until the attempt has ended. */
  async function deliver(verdicts: readonly EmailVerdict[]): Promise<void> {
    const current = { name: String(cases), manifest: { id: RELEASE, missing: [] } } as never;
    const releases = { current, feeds: [], open: () => undefined };
    const overrides = { current: Overrides.NONE };
    const services = { store, releases, overrides, log: { error: () => {} }, now };
    const events = new WebhookEvents(services, 0, async () => verdicts);
    let failure: unknown;
    const sender = new WebhookSender({
      store,
      log: {
        info: () => {},
        error: (event, fields) => {
          if (event === "webhooks-stopped") failure = fields?.reason;
        },
      },
      version: "0",
      now: Date.now,
      timeoutMs: TIMEOUT_MS,
      pollMs: 1,
      events,
    });
    sender.start();
    await until(() => failure !== undefined || [...sender.attempts.values()].some((count) => count > 0));
    if (failure !== undefined) throw new Error(String(failure));
    await sender.stop();
  }

  return {
    corpus: CORPUS,
    tokens: TOKENS,
    check: async (input) => {
      cases++;
      const text = Buffer.from(input).toString().replaceAll("{port}", new URL(receiver.url).port);
      const [url = "", visitor = "", evidence = "", ending = "", ...rest] = text.split("\n");
      const answered = rest.join("\n");
      answer = (socket) => {
        socket.write(answered);
        (ENDINGS[ending] ?? ENDINGS.end!)(socket);
      };
      const ofUrl = await checkUrl(url);
      return `URL ${ofUrl}, ${await checkDelivery(visitor, evidence, answered)}`;
    },
    close: async () => {
      receiver.stop();
      await closeAdminServers();
    },
  };
}

/** Returns the parts of a visitor that a decision keeps. Leaves out a name or `ref` that decisions refuse. */
function visitorOf(line: string): { readonly domain: string; readonly ref: string | null } {
  const [name = "", ...words] = line.split(" ");
  const ref = words.join(" ");
  const email = `jane@${name}`;
  const read = readDecisionInput({ event: "sign_up", email, ref }, DEFAULT_RULESET.schema);
  return { domain: parseEmail(email).host ?? "example.com", ref: "event" in read ? ref : null };
}

interface DeliveryDocument {
  readonly state: string;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly last_attempt: {
    readonly outcome: string;
    readonly status: number | null;
    readonly reason: string;
  };
}

/** Reasons that may be stored. They repeat nothing that the receiver has sent. */
const REASON = /^(the receiver returned \d+|the receiver did not respond within|the connection failed: \w+$)/;

/** @throws AssertionError for a state that the response does not call for */
function checkState(
  { state, attempts, next_attempt_at, last_attempt }: DeliveryDocument,
  disabledAt: string | null,
  answered: string,
  now: number,
): void {
  const { outcome, status, reason } = last_attempt;
  if (status !== null && !new RegExp(`HTTP/1\\.[01] ${status}`).test(answered))
    throw new Error(`status ${status}, which was not answered`);
  const isSuccess = status !== null && status >= 200 && status < 300;
  deepStrictEqual([isSuccess, status === 410], [outcome === "delivered", outcome === "gone"]);
  if (outcome !== "delivered") match(reason, REASON);
  const due = outcome === "failed" ? new Date(now + WEBHOOK_WAITS_SECONDS[0] * 1_000).toISOString() : null;
  const after = outcome === "delivered" ? "delivered" : outcome === "gone" ? "ended" : "waiting";
  const found = [state, attempts, next_attempt_at, disabledAt !== null];
  deepStrictEqual(found, [after, 1, due, outcome === "gone"]);
}
