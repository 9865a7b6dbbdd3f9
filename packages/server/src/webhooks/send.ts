// send.ts: one attempt to deliver a message: signed, sent to a checked address, and its status read.
//
// in   the webhook with its secrets, the message
// out  how it ended; never throws
// src  https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
// cost at most TIMEOUT_MS; of an answer only the status is read, so its size does not matter
//
// This does not use `fetch`: it would use the proxy in HTTPS_PROXY, and the proxy would choose the address to connect to.

import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Attempt, ClaimedDelivery } from "../store/deliveries.ts";
import type { SigningWebhook } from "../store/webhooks.ts";
import { addressesOf, type CheckedAddress, hostOf, type Resolve, systemResolve } from "./destination.ts";

/** From the lookup of the host name to the status of the answer. */
const TIMEOUT_MS = 15_000;
const MAX_REASON = 200;
const GONE = 410;

export interface SendOptions {
  /** Of this program. */
  readonly version: string;
  /** Epoch ms. */
  readonly now: () => number;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
  /** Ends the attempt before its end. */
  readonly signal?: AbortSignal;
  /** PEM: certificates that are trusted instead of the system's. */
  readonly ca?: string;
}

/** The value of `webhook-signature`: a signature by each secret. @param timestamp Unix seconds */
export function signatures(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    })
    .join(" ");
}

export async function send(
  { webhook, secrets }: SigningWebhook,
  { id, body }: Pick<ClaimedDelivery, "id" | "body">,
  options: SendOptions,
): Promise<Attempt> {
  const { version, now, resolve = systemResolve, timeoutMs = TIMEOUT_MS, signal } = options;
  const url = new URL(webhook.url);
  const timeout = AbortSignal.timeout(timeoutMs);
  const ending = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
  try {
    const found = await within(addressesOf(hostOf(url), webhook.allowInner, resolve), ending);
    if ("problem" in found) return failed(undefined, found.problem);
    const timestamp = Math.floor(now() / 1_000);
    const headers = {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "user-agent": `Inkling-Webhooks/${version}`,
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signatures(secrets, id, timestamp, body),
    };
    // A request that was answered with 101 has no further events, not even of its signal.
    return attemptOf(await within(post(url, headers, body, found.addresses, ending, options.ca), ending));
  } catch (error) {
    if (timeout.aborted) return failed(undefined, `there was no answer within ${timeoutMs / 1_000} s`);
    return failed(undefined, reasonOf(error));
  }
}

function attemptOf(status: number): Attempt {
  if (status >= 200 && status < 300) return { outcome: "delivered", status, reason: undefined };
  if (status === GONE) return { outcome: "gone", status, reason: "the receiver returned 410" };
  if (status >= 300 && status < 400)
    return failed(status, `the receiver returned ${status}: redirects are not followed`);
  return failed(status, `the receiver returned ${status}`);
}

const failed = (status: number | undefined, reason: string): Attempt => ({
  outcome: "failed",
  status,
  reason,
});

/** Codes of the system and of TLS say enough; their texts may have addresses. */
function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  const text =
    typeof code === "string" && code !== "" ? code : error instanceof Error ? error.name : "unknown";
  return `the connection failed: ${text}`.slice(0, MAX_REASON);
}

/** @throws what `signal` was ended with */
function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  work.catch(() => {}); // comes too late
  return Promise.race([work, ended.promise]).finally(() => signal.removeEventListener("abort", end));
}

/** @returns the status of the answer, the rest of which is left. @throws what the connection throws */
function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  addresses: readonly CheckedAddress[],
  signal: AbortSignal,
  ca: string | undefined,
): Promise<number> {
  type Found = (error: Error | null, address: unknown, family?: number) => void;
  // The name's own addresses may be others by now.
  const lookup = (_: string, { all }: { all?: boolean }, found: Found) => {
    if (all) found(null, addresses);
    else found(null, addresses[0]!.address, addresses[0]!.family);
  };
  const isTls = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const sent = (isTls ? httpsRequest : httpRequest)(
      url,
      { method: "POST", headers, agent: false, signal, lookup: lookup as never, ...(ca && { ca }) },
      (answer) => {
        resolve(answer.statusCode ?? 0);
        answer.on("error", () => {}); // cut off below
        answer.destroy();
        sent.destroy();
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}
