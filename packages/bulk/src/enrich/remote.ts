// remote.ts: rows enriched with the answers of a server, in place of a release in this process.
//
// in   the server's address and a key; blocks of whole rows, in order
// out  the same bytes as with the release in this process; what the server says of its data
// err  BulkError: what the server refused, or that it is not there, and what to do
// cost each value that a block holds is asked for once, in batches; the next block waits. Answers are kept for later
//      blocks, a million values at most
//
// A block is gone through twice: once to see what it asks, and once, when all is known, to write it.

import { Inkling, InklingError } from "@inkling/client";
import { formatIp, LOOKUPS, type Lookup } from "@inkling/engine";
import { z } from "zod";
import { BulkError } from "../errors.ts";
import { AddressText, type Answers } from "./answerer.ts";
import { Enricher } from "./enricher.ts";
import type { Plan } from "./plan.ts";
import type { Enriched, Pool } from "./pool.ts";
import { type Tails, tailsFor } from "./tails.ts";
import type { Tally } from "./tally.ts";

const MAX_KEPT = 1_000_000;
/** Without a line of an answer. A server paces a batch to the key's rate. */
const SILENT_MS = 60_000;
const RETRIES = 4;
const STATUS_MS = 10_000;

/** Where to ask, and with which key. */
export interface Remote {
  readonly url: string;
  readonly key: string;
}

/** Answers that were fetched before they are asked for. */
class FetchedAnswers extends AddressText implements Answers {
  readonly geolocate: Tails;
  readonly reputation: Tails;
  readonly email: Tails;
  /** While true nothing is answered: what would have been asked is noted. */
  isNoting = false;
  readonly wanted: Readonly<Record<Lookup, Set<string>>> = {
    geolocate: new Set(),
    reputation: new Set(),
    email: new Set(),
  };
  private readonly known: Readonly<Record<Lookup, Map<string, number>>> = {
    geolocate: new Map(),
    reputation: new Map(),
    email: new Map(),
  };
  /** Tails by the answer's text: the same answer is given to many. */
  private readonly made: Readonly<Record<Lookup, Map<string, number>>> = {
    geolocate: new Map(),
    reputation: new Map(),
    email: new Map(),
  };

  constructor(tails: Record<Lookup, Tails>) {
    super();
    this.geolocate = tails.geolocate;
    this.reputation = tails.reputation;
    this.email = tails.email;
  }

  place(): number {
    return this.of("geolocate", formatIp(this.address));
  }

  reputationOf(): number {
    return this.of("reputation", formatIp(this.address));
  }

  emailOf(text: string): number {
    return text === "" ? -1 : this.of("email", text);
  }

  /** @param answer undefined where there is none */
  learn(lookup: Lookup, value: string, answer: unknown): void {
    this.known[lookup].set(value, answer === undefined ? -1 : this.tail(lookup, JSON.stringify(answer)));
  }

  /** Forgets what is known, when it is much. */
  makeRoom(): void {
    for (const known of Object.values(this.known)) if (known.size > MAX_KEPT) known.clear();
  }

  private of(lookup: Lookup, value: string): number {
    const known = this.known[lookup].get(value);
    if (!this.isNoting) return known ?? -1;
    if (known === undefined) this.wanted[lookup].add(value);
    return -1;
  }

  private tail(lookup: Lookup, answer: string): number {
    const known = this.made[lookup].get(answer);
    if (known !== undefined) return known;
    const number = this[lookup].make(answer);
    this.made[lookup].set(answer, number);
    return number;
  }
}

export class RemotePool implements Pool {
  readonly size = 1;
  private readonly client: Inkling;
  private readonly remote: Remote;
  private readonly answers: FetchedAnswers;
  private readonly enricher: Enricher;
  /** Goes through a block for what it asks; what it writes is not used. */
  private readonly noter: Enricher;
  private readonly stopper = new AbortController();
  private last: Promise<unknown> = Promise.resolve();

  /** @throws BulkError when the URL or the key has not the right form */
  constructor(plan: Plan, withSummary: boolean, remote: Remote, unknown: readonly string[]) {
    this.remote = remote;
    this.client = clientOf(remote);
    this.answers = new FetchedAnswers(tailsFor(plan, withSummary, unknown));
    this.enricher = new Enricher(plan, this.answers);
    this.noter = new Enricher(plan, this.answers);
  }

  get rows(): number {
    return this.enricher.counted.rows;
  }

  block(bytes: Uint8Array, isFirst: boolean): Promise<Enriched> {
    const done = this.last.then(() => this.enriched(bytes, isFirst));
    this.last = done;
    return done;
  }

  async finish(): Promise<Tally> {
    return this.enricher.tally();
  }

  stop(): void {
    this.stopper.abort();
  }

  private async enriched(bytes: Uint8Array, isFirst: boolean): Promise<Enriched> {
    const { answers } = this;
    answers.makeRoom();
    answers.isNoting = true;
    this.noter.block(bytes, isFirst);
    answers.isNoting = false;
    await Promise.all(LOOKUPS.map((lookup) => this.fetch(lookup)));
    return { bytes: this.enricher.block(bytes, isFirst), rows: this.rows };
  }

  private async fetch(lookup: Lookup): Promise<void> {
    const wanted = this.answers.wanted[lookup];
    if (wanted.size === 0) return;
    try {
      const results = this.client.batch(lookup, wanted, {
        signal: this.stopper.signal,
        timeoutMs: SILENT_MS,
      });
      for await (const result of results) {
        if (!result.ok && isRefusal(result.error)) throw result.error;
        this.answers.learn(lookup, result.value, result.ok ? result.answer : undefined);
      }
    } catch (error) {
      this.stopper.abort(); // the other look-ups of this block
      throw explained(error, this.remote, lookup);
    }
    wanted.clear();
  }
}

/** Is it the asking that is refused, and not the one value that has no answer? */
function isRefusal({ isUnavailable, answerStatus = 0 }: InklingError): boolean {
  return isUnavailable || answerStatus === 401 || answerStatus === 403 || answerStatus === 429;
}

/** @throws BulkError when the URL or the key has not the right form */
export function checkRemote(remote: Remote): void {
  clientOf(remote);
}

function clientOf({ url, key }: Remote): Inkling {
  try {
    return new Inkling({ url, key, retries: RETRIES, cacheEntries: 0 });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = error.message.replace(/^@inkling\/client: url /, "--url ");
    throw new BulkError(message, "the server's address, such as http://127.0.0.1:8080", true);
  }
}

function explained(error: unknown, { url }: Remote, lookup: Lookup): unknown {
  if (!(error instanceof InklingError)) return error;
  return new BulkError(`${url} did not answer ${lookup}: ${error.message}`, error.hint);
}

const statusSchema = z.object({
  missing: z.array(z.string()),
  feeds: z.array(z.object({ sets: z.string(), state: z.string(), attribution: z.string().nullable() })),
});
const problemSchema = z.object({ code: z.string(), detail: z.string().optional() });

export type RemoteStatus = z.infer<typeof statusSchema>;

/** What the server says of its data; also shows, before anything is read, that it is there and takes the key. */
export async function remoteStatus({ url, key }: Remote): Promise<RemoteStatus> {
  const base = url.replace(/\/+$/, "");
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${base}/v1/status`, {
      headers: { Authorization: `Bearer ${key}` },
      redirect: "error",
      signal: AbortSignal.timeout(STATUS_MS),
    });
    text = await response.text();
  } catch (error) {
    throw new BulkError(
      `${url} cannot be reached: ${(error as Error).message}`,
      "is the server running there? `curl URL/healthz` tells",
    );
  }
  const document = parsed(text);
  const problem = problemSchema.safeParse(document);
  if (problem.success) {
    const { code, detail } = problem.data;
    throw new BulkError(
      `${url} refuses: ${detail ?? "it says no more"} (${code})`,
      response.status === 401
        ? "INKLING_API_KEY has to hold a key of that server"
        : "docs/errors.md explains the code",
    );
  }
  const status = statusSchema.safeParse(document);
  if (!response.ok || !status.success) {
    throw new BulkError(
      `${url} is no Inkling server: its /v1/status is not as expected (HTTP ${response.status})`,
      "--url takes the address of the API, without a path after it",
    );
  }
  return status.data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a page, or nothing: told as what is not expected
  }
}
