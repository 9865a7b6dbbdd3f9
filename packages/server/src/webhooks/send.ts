// send.ts: makes one attempt to deliver a message. It signs the message, sends it to a checked address, and reads the
// status.
//
// Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md. Cost: at most
// TIMEOUT_MS; only the status of the response is read, so the response's size does not matter.
//
// This file does not use `fetch`, which would use the proxy in HTTPS_PROXY. The proxy would then choose the address to
// connect to.

import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import {
  addressesOf,
  type CheckedAddress,
  hostOf,
  type Resolve,
  systemResolve,
} from "@inkling/operations/webhook-destination";
import type { Attempt, ClaimedDelivery } from "@inkling/store/deliveries";
import type { EpochMs } from "@inkling/store/keys/key";
import type { SigningWebhook } from "@inkling/store/webhooks";

/** Maximum milliseconds from looking up the host name to reading the response's status. */
const TIMEOUT_MS = 15_000;
const MAX_REASON = 200;
const GONE = 410;

export interface SendOptions {
  /** This program's version. */
  readonly version: string;
  readonly now: () => EpochMs;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string;
}

/** Creates the value of `webhook-signature`, with a signature for each secret. @param timestamp Unix seconds */
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
    const found = await within(addressesOf(hostOf(url), webhook.allowPrivate, resolve), ending);
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
    // After a 101 response, a request emits no more events, not even if its signal aborts.
    return attemptOf(await within(post(url, headers, body, found.addresses, ending, options.ca), ending));
  } catch (error) {
    if (timeout.aborted)
      return failed(undefined, `the receiver did not respond within ${timeoutMs / 1_000} s`);
    return failed(undefined, reasonOf(error));
  }
}

function attemptOf(status: number): Attempt {
  if (status >= 200 && status < 300) return { outcome: "delivered", status, reason: undefined };
  if (status === GONE) return { outcome: "gone", status, reason: "the receiver returned 410" };
  if (status >= 300 && status < 400)
    return failed(status, `the receiver returned ${status}: Inkling does not follow redirects`);
  return failed(status, `the receiver returned ${status}`);
}

const failed = (status: number | undefined, reason: string): Attempt => ({
  outcome: "failed",
  status,
  reason,
});

/**
 * Returns a reason to show to operators. System and TLS error codes are specific enough, and messages may contain
 * addresses.
 */
function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  const text =
    typeof code === "string" && code !== "" ? code : error instanceof Error ? error.name : "unknown";
  return `the connection failed: ${text}`.slice(0, MAX_REASON);
}

/** @throws the reason of `signal` if it aborts first */
function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  work.catch(() => {}); // nobody waits for a late error
  return Promise.race([work, ended.promise]).finally(() => signal.removeEventListener("abort", end));
}

/** @returns the status of the response; the rest is ignored. @throws the connection's errors */
function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  addresses: readonly CheckedAddress[],
  signal: AbortSignal,
  ca: string | undefined,
): Promise<number> {
  type Found = (error: Error | null, address: unknown, family?: number) => void;
  // Uses the checked addresses, because the name may resolve to different addresses by now.
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
        answer.on("error", () => {}); // the socket is destroyed below
        answer.destroy();
        sent.destroy();
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}
