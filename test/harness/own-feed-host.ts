// own-feed-host.ts: publishes operators' own feeds on this machine, and runs builds that use them together with a few
// built-in feeds.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { OwnFeed } from "@inkling/contract";
import { feedsOf, openServable } from "@inkling/data";
import { INCLUDE, type Lookup } from "@inkling/engine";
import { answer, sourceOf } from "../../packages/cli/src/runtime/answer.ts";
import type { Feed } from "../../packages/compiler/src/catalog/feed.ts";
import { FEEDS } from "../../packages/compiler/src/catalog/feeds.ts";
import { build } from "../../packages/compiler/src/pipeline/build.ts";
import type { BuildRequest } from "../../packages/compiler/src/pipeline/events.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const FIXTURES = resolve(import.meta.dir, "../../packages/compiler/fixtures/feeds");
const DAY = 86_400_000;
/** Without this header, `/locked` returns 401. */
export const SECRET = "Bearer hush-hush-4711";

const BUILT_IN = [
  ["ipsum-3", "45.66.103.7\n81.2.69.3\n"],
  ["disposable-email-domains", "drop.test-corp.com\n"],
  ["asn", readFileSync(join(FIXTURES, "asn.csv"))],
  ["dbip-city-lite", readFileSync(join(FIXTURES, "dbip-city-lite.mmdb"))],
  ["aws-geofeed", "81.2.69.80/28,IE,IE-L,Dublin,\n"],
] as const;

export class OwnFeedHost {
  /** The publisher's files, by path. */
  readonly files = new Map<string, string | Uint8Array>(BUILT_IN);
  readonly requests: { readonly path: string; readonly header: string | null }[] = [];
  /** If true, every request returns 503. */
  isUnreachable = false;
  readonly temp = temporaryFolder();
  private folders = 0;
  private readonly server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => this.respond(request),
  });

  url(path: string): string {
    return `http://127.0.0.1:${this.server.port}/${path}`;
  }

  /** Returns a new data folder. */
  folder(): string {
    return join(this.temp, String(this.folders++));
  }

  stop(): Promise<void> {
    return this.server.stop(true);
  }

  private respond(request: Request): Response {
    const path = new URL(request.url).pathname.slice(1);
    const header = request.headers.get("x-key");
    this.requests.push({ path, header });
    if (this.isUnreachable) return new Response("oops", { status: 503 });
    if (path === "locked" && header !== SECRET) return new Response(null, { status: 401 });
    const body = this.files.get(path);
    return body === undefined ? new Response(null, { status: 404 }) : new Response(body);
  }

  /** @param days how many days from now the build runs */
  async build(dataDir: string, ownFeeds: readonly OwnFeed[], days = 0, more: Partial<BuildRequest> = {}) {
    const request = { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {}, ownFeeds, ...more };
    const effects = { now: () => new Date(Date.now() + days * DAY), emit: () => {}, chance: () => 0.5 };
    const made = await build(request, { ...effects, feeds: this.builtIn() });
    const feeds = feedsOf(dataDir, { name: made.name, manifest: made.release });
    return { ...made, reportOf: (id: string) => feeds.find((feed) => feed.id === id) };
  }

  private builtIn(): readonly Feed[] {
    return BUILT_IN.map(([id]) => {
      const { seed: _, ...row } = FEEDS.find((feed) => feed.id === id)!;
      const own = { urls: () => [this.url(id)], entries: { least: 1, most: 1_000 } };
      return { ...row, ...own, ...(id === "asn" && { format: "asn-csv" as const }) };
    });
  }
}

/** Returns an answer with evidence and network. */
export const lookUp = (dataDir: string, lookup: Lookup, value: string) =>
  JSON.parse(
    answer(
      sourceOf({ release: openServable(dataDir) }, 0),
      lookup,
      value,
      INCLUDE.evidence | INCLUDE.network,
    ),
  );
