// remote.ts: rows enriched with the answers of a server, in place of a release in this process.
//
// in   the server's address and a key; blocks of whole rows, in order
// out  the same bytes as with the release in this process; the status of the server's data
// err  BulkError: what the server refused, or that it is unreachable, and what to do
// cost each distinct value of a block is one lookup, in batches; the next block waits. Answers are kept for later
//      blocks, a million values at most
//
// A block is read twice: first to collect the values of all its columns, then, with all answers, to write it.

import { Inkling, InklingError } from "@inkling/client";
import { formatIp, LOOKUPS, type Lookup } from "@inkling/engine";
import { z } from "zod";
import { BulkError } from "../errors.ts";
import { perLookup, perTable, type Table } from "../members.ts";
import { Answers } from "./answers.ts";
import { BLOCK_BYTES } from "./blocks.ts";
import { type Enriched, Enricher, enricherFor } from "./enricher.ts";
import type { Plan } from "./plan.ts";
import type { Pool } from "./pool.ts";
import { tailsFor } from "./tails.ts";
import type { Tally } from "./tally.ts";

const MAX_KEPT = 1_000_000;
/** Without a line of an answer. A server paces a batch to the key's rate. */
const SILENT_MS = 60_000;
const RETRIES = 4;
const STATUS_MS = 10_000;

/** Values of a request. */
const BATCH_VALUES = 1_000;

export interface Estimate {
  readonly rows: number;
  readonly lookups: number;
  readonly requests: number;
}

/** A server, and a key of it. */
export interface Remote {
  readonly url: string;
  readonly key: string;
}

type Wanted = Readonly<Record<Lookup, Set<string>>>;

/** Answers that were fetched before. */
class FetchedAnswers extends Answers {
  /** While true there are no answers: the values without one are collected. */
  isCollecting = false;
  /** Shared by all columns: each value is one lookup. */
  private readonly wanted: Wanted;
  private readonly known = perTable(() => new Map<string, number>());

  constructor(tails: Answers["tails"], wanted: Wanted) {
    super(tails);
    this.wanted = wanted;
  }

  geolocate(): number {
    return this.numberFor("geolocate", formatIp(this.address));
  }

  reputation(): number {
    return this.numberFor("reputation", formatIp(this.address));
  }

  /** It comes with the reputation, which every public address has. */
  network(): number {
    return this.numberFor("network", formatIp(this.address), "reputation");
  }

  email(text: string): number {
    return text === "" ? -1 : this.numberFor("email", text);
  }

  /** @param answer undefined where there is none */
  store(lookup: Lookup, value: string, answer: object | undefined): void {
    const { network, ...own } = (answer ?? {}) as { network?: object | null };
    this.keep(lookup, value, answer && own);
    if (lookup === "reputation" && this.tails.network.isWanted)
      this.keep("network", value, network ?? undefined);
  }

  private keep(table: Table, value: string, answer: object | undefined): void {
    const number = answer === undefined ? -1 : this.tails[table].numberOf(JSON.stringify(answer));
    this.known[table].set(value, number);
  }

  /** Forgets the answers of a table when they are too many. */
  makeRoom(): void {
    for (const known of Object.values(this.known)) if (known.size > MAX_KEPT) known.clear();
  }

  /** @param lookup whose answers have it */
  private numberFor(table: Table, value: string, lookup = table as Lookup): number {
    const known = this.known[table].get(value);
    if (!this.isCollecting) return known ?? -1;
    if (known === undefined) this.wanted[lookup].add(value);
    return -1;
  }
}

export class RemotePool implements Pool {
  readonly size = 1;
  private readonly client: Inkling;
  private readonly remote: Remote;
  private readonly wanted: Wanted = perLookup(() => new Set<string>());
  /** A column's each. */
  private readonly answers: FetchedAnswers[] = [];
  private readonly enricher: Enricher;
  /** They collect the values of a block, a column each; what they write is not used. */
  private readonly collectors: readonly Enricher[];
  private readonly stopper = new AbortController();
  private last: Promise<unknown> = Promise.resolve();

  /** @throws BulkError when the URL or the key has not the right form */
  constructor(plan: Plan, withSummary: boolean, remote: Remote, unknown: readonly string[]) {
    this.remote = remote;
    this.client = clientOf(remote);
    const collectors: Enricher[] = [];
    this.enricher = enricherFor(plan, (plan) => {
      const answers = new FetchedAnswers(tailsFor(plan, withSummary, unknown), this.wanted);
      this.answers.push(answers);
      collectors.push(new Enricher(plan, answers));
      return answers;
    });
    this.collectors = collectors;
  }

  get rows(): number {
    return this.enricher.counted.rows;
  }

  /**
   * What a file will take, from its first lines: values that are repeated later make it less.
   * @param head whole rows, the first of the file
   * @param size of the file
   */
  estimate(head: Uint8Array, size: number): Estimate {
    const { wanted } = this;
    const rows = this.collect(head, true);
    const scale = size / Math.max(1, head.length);
    const counts = LOOKUPS.map((lookup) => Math.round(wanted[lookup].size * scale)).filter(
      (count) => count > 0,
    );
    for (const values of Object.values(wanted)) values.clear();
    const blocks = Math.ceil(size / BLOCK_BYTES); // each sends requests of its own
    return {
      rows: Math.round(rows * scale),
      lookups: counts.reduce((sum, count) => sum + count, 0),
      requests: counts.reduce((sum, count) => sum + Math.max(blocks, Math.ceil(count / BATCH_VALUES)), 0),
    };
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
    for (const answers of this.answers) answers.makeRoom();
    this.collect(bytes, isFirst);
    await Promise.all(LOOKUPS.map((lookup) => this.fetch(lookup)));
    return this.enricher.block(bytes, isFirst);
  }

  /** Adds the values of a block that have no answer to `wanted`. @returns its rows */
  private collect(bytes: Uint8Array, isFirst: boolean): number {
    for (const answers of this.answers) answers.isCollecting = true;
    const [first] = this.collectors.map((collector) => collector.block(bytes, isFirst));
    for (const answers of this.answers) answers.isCollecting = false;
    return first!.rows;
  }

  private async fetch(lookup: Lookup): Promise<void> {
    const wanted = this.wanted[lookup];
    if (wanted.size === 0) return;
    try {
      const results = this.client.batch(lookup, wanted, {
        signal: this.stopper.signal,
        timeoutMs: SILENT_MS,
        size: BATCH_VALUES,
        network: lookup === "reputation" && this.answers.some(({ tails }) => tails.network.isWanted),
      });
      for await (const result of results) {
        if (!result.ok && isRefusal(result.error)) throw result.error;
        for (const answers of this.answers)
          answers.store(lookup, result.value, result.ok ? result.answer : undefined);
      }
    } catch (error) {
      this.stopper.abort(); // the other lookups of this block
      throw explained(error, this.remote, lookup);
    }
    wanted.clear();
  }
}

/** Is the whole request refused, and not one value? */
function isRefusal({ code, isPassing, answerStatus }: InklingError): boolean {
  return isPassing || answerStatus === 401 || answerStatus === 403 || code === "SANDBOX_VALUE_REQUIRED";
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

export type RemoteStatus = z.infer<typeof statusSchema> & {
  /** Lookups per second that the key may do at least, and those that are left to it today; undefined: no limit. */
  readonly rate: number | undefined;
  readonly left: number | undefined;
};

/** The status of the server's data; also checks, before anything is read, that it is reachable and accepts the key. */
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
      "is the server running there? `curl URL/healthz` shows it",
    );
  }
  const document = parsed(text);
  const problem = problemSchema.safeParse(document);
  if (problem.success) {
    const { code, detail } = problem.data;
    throw new BulkError(
      `${url} refuses: ${detail ?? "no details"} (${code})`,
      response.status === 401
        ? "INKLING_API_KEY has to hold a key of that server"
        : "docs/errors.md explains the code",
    );
  }
  const status = statusSchema.safeParse(document);
  if (!response.ok || !status.success) {
    throw new BulkError(
      `${url} is not an Inkling server: its /v1/status is not as expected (HTTP ${response.status})`,
      "--url takes the address of the API, without a path after it",
    );
  }
  return { ...status.data, ...limitsOf(response.headers) };
}

/** @src draft-ietf-httpapi-ratelimit-headers-10: q values in w seconds, r of them left */
function limitsOf(headers: Headers): Pick<RemoteStatus, "rate" | "left"> {
  const bucket = /"default";q=(\d+);w=(\d+)/.exec(headers.get("RateLimit-Policy") ?? "");
  const daily = /"daily";r=(\d+)/.exec(headers.get("RateLimit") ?? "");
  return {
    rate: bucket === null ? undefined : Number(bucket[1]) / Math.max(1, Number(bucket[2])),
    left: daily === null ? undefined : Number(daily[1]),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a page, or nothing: reported as not expected
  }
}
