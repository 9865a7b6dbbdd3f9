// events.ts: detects the events that webhooks report, and queues them.
//
// Each is queued once, no matter which hosts detect it and how often. Cost: a pass over the feeds every 5 s; after a
// change of release or overrides, a lookup of each domain in the decisions of the last 30 days.
//
// Every host reports events about its own data, and the queue drops events that another host has already reported. Only
// the host that holds the watch checks quotas and verdicts, because hosts with different releases would contradict each
// other.

import {
  copyName,
  type EmailVerdict,
  type EventLog,
  type FactName,
  type WebhookEvent,
} from "@inkling/contract";
import type { NamedRelease } from "@inkling/data";
import { type FeedReport, feedAgeSeconds, isInForce, type Overrides } from "@inkling/engine";
import type { DecidedDomain } from "@inkling/store/decisions";
import type { StoredRow } from "@inkling/store/decisions/record";
import type { DeliveryStore, Dropped, QueuedEvent } from "@inkling/store/deliveries";
import { DAY_MS, dayOf } from "@inkling/store/keys/day";
import type { EpochMs } from "@inkling/store/keys/key";
import type { Store } from "@inkling/store/store";
import type { Releases } from "../releases/releases.ts";

const CHECK_MS = 5_000;
/** Milliseconds after which a host that is gone loses the watch. */
const WATCH_MS = 60_000;
const DECISIONS_MS = 30 * DAY_MS;
/** Maximum number of decisions on a domain for which a change is reported, newest first. */
const MAX_DECISIONS = 1_000;
/** Usage arrives up to a second late, so yesterday's usage is still checked for this many milliseconds. */
const LATE_USAGE_MS = 60_000;

/**
 * Hosts change their release at different times, so decisions of the milliseconds before a change may have used the new
 * verdict.
 */
const OTHER_HOSTS_MS = 60_000;

interface WebhookServices {
  readonly store: Pick<Store, "deliveries" | "usage" | "decisions">;
  readonly releases: Pick<Releases, "current" | "feeds" | "open">;
  readonly overrides: { readonly current: Overrides };
  readonly log: Pick<EventLog, "error">;
  readonly now: () => EpochMs;
}

type Subscribed = ReadonlySet<WebhookEvent>;

/** The inputs of verdicts. As long as they are equal, verdicts do not change. */
interface Checked {
  readonly release: string;
  readonly overrides: Overrides;
  readonly inForce: number;
}

export class WebhookEvents {
  /**
   * The comparison of verdicts that is in progress. It runs in the background, because comparing many domains takes
   * minutes.
   */
  comparing: Promise<void> | undefined;
  /** Number of deliveries that were dropped since startup. */
  dropped = 0;
  private readonly services: WebhookServices;
  private readonly checkMs: number;
  private readonly lookUp: ReturnType<typeof domainVerdicts>;
  private readonly holder = crypto.randomUUID();
  private checkedAt = Number.NEGATIVE_INFINITY;
  /**
   * Keys of the conditions that have been queued and may still hold, such as stale feeds and today's used-up quotas.
   */
  private told: ReadonlySet<string> = new Set();
  /** The lasting conditions that a full webhook did not get, by webhook. */
  private missed: ReadonlySet<string> = new Set();
  private checked: Checked | undefined;
  /** When the inputs of verdicts were last seen to be those that were checked. Undefined before the first check. */
  private unchangedAt: EpochMs | undefined;
  private failure: unknown;
  private isStopped = false;

  /**
   * @param checkMs milliseconds between two checks
   * @param lookUp looks up verdicts on domains in the current release and overrides
   */
  constructor(services: WebhookServices, checkMs = CHECK_MS, lookUp = domainVerdicts(services)) {
    this.services = services;
    this.checkMs = checkMs;
    this.lookUp = lookUp;
  }

  /**
   * Queues the events that have happened since the last call.
   * @param subscribed the events that any webhook subscribes to; no other events are checked
   */
  async find(subscribed: Subscribed): Promise<void> {
    const { store, now } = this.services;
    if (performance.now() - this.checkedAt < this.checkMs) return;
    this.checkedAt = performance.now();
    const { failure } = this;
    this.failure = undefined;
    const at = now();
    const lasting = this.ofData(subscribed, at);
    const needsWatch = subscribed.has("key.quota_reached") || subscribed.has("decision.changed");
    if (needsWatch && (await store.deliveries.takeWatch(this.holder, WATCH_MS))) {
      if (subscribed.has("key.quota_reached")) lasting.push(...(await this.ofQuotas(at)));
      if (subscribed.has("decision.changed")) this.startVerdicts();
    }
    const fresh = lasting.filter(({ key }) => !this.told.has(key));
    const dropped = fresh.length > 0 ? await this.queue(fresh) : [];
    // What a webhook missed is queued as soon as the webhook has room. The other webhooks get nothing twice.
    const missed = new Set(dropped.map(({ key }) => key));
    this.told = new Set(lasting.map(({ key }) => key).filter((key) => !missed.has(key)));
    this.missed = new Set(dropped.map(placeOf));
    if (failure !== undefined) throw failure;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.comparing;
    // If the database is unreachable, another host takes the watch when it expires.
    await this.services.store.deliveries.leaveWatch(this.holder).catch(() => {});
  }

  private ofData(subscribed: Subscribed, now: EpochMs): QueuedEvent[] {
    const events: QueuedEvent[] = [];
    for (const feed of this.services.releases.feeds) {
      if (feed.held !== undefined && subscribed.has("feed.held")) events.push(heldEvent(feed, feed.held));
      if ((feed.stale || feed.state === "expired") && subscribed.has("data.stale"))
        events.push(staleEvent(feed, now));
    }
    return events;
  }

  private async ofQuotas(now: EpochMs): Promise<QueuedEvent[]> {
    const days = new Set([dayOf(now - LATE_USAGE_MS), dayOf(now)]);
    const events: QueuedEvent[] = [];
    for (const day of days) {
      for (const key of await this.services.store.usage.readExhausted(day)) {
        const data = { key: key.id, name: key.name, quota: key.quota, day };
        events.push({
          key: `key.quota_reached/${key.id}/${day}`,
          message: { type: "key.quota_reached", data },
        });
      }
    }
    return events;
  }

  /** Queues events, and reports deliveries that were dropped, except those that were dropped before. */
  private async queue(...given: Parameters<DeliveryStore["queue"]>): Promise<readonly Dropped[]> {
    const [events] = given;
    const { dropped } = await this.services.store.deliveries.queue(...given);
    const news = dropped.filter((one) => !this.missed.has(placeOf(one)));
    if (news.length > 0) this.reportDropped(events[0]!.message.type, news);
    return dropped;
  }

  /** Deliveries are dropped if too many wait for their webhook. */
  private reportDropped(type: WebhookEvent, news: readonly Dropped[]): void {
    this.dropped += news.length;
    for (const webhook of new Set(news.map((one) => one.webhook))) {
      const { length: dropped } = news.filter((one) => one.webhook === webhook);
      this.services.log.error("webhook-queue-full", { webhook, type, dropped });
    }
  }

  private startVerdicts(): void {
    this.comparing ??= this.tellVerdicts()
      .catch((error) => {
        this.failure = error;
      })
      .finally(() => {
        this.comparing = undefined;
      });
  }

  private async tellVerdicts(): Promise<void> {
    const { store, releases, overrides, now } = this.services;
    const { current } = releases;
    // Without data, no verdict can have changed.
    if (current === undefined || current.manifest.missing.includes("disposable")) return;
    const at = now();
    const { all } = overrides.current;
    const inForce = all.filter((override) => isInForce(override, at)).length;
    const checking = { release: current.name, overrides: overrides.current, inForce };
    if (Bun.deepEquals(checking, this.checked)) {
      this.unchangedAt = at;
      return;
    }
    const changing = this.unchangedAt === undefined ? at : this.unchangedAt - OTHER_HOSTS_MS;
    for await (const page of store.decisions.domainsSince(at - DECISIONS_MS, changing)) {
      if (this.isStopped) return;
      await this.tellChanged(page, changing, current);
    }
    this.checked = checking;
    this.unchangedAt = at;
  }

  /** @param changing decisions before this time used the verdicts before the change */
  private async tellChanged(
    decided: readonly DecidedDomain[],
    changing: EpochMs,
    { manifest }: NamedRelease,
  ): Promise<void> {
    const { store, now } = this.services;
    // The verdict that the newest decision before the change used, unless it had no data.
    const held = new Map(decided.map(({ domain, newest }) => [domain, verdictOf(newest)]));
    const domains = [...held.keys()].filter((domain) => held.get(domain) !== undefined);
    if (domains.length === 0) return;
    const verdicts = await this.lookUp(domains);
    const told = await store.deliveries.toldVerdicts(domains);
    const at = now();
    for (const [i, domain] of domains.entries()) {
      const verdict = verdicts[i];
      if (verdict === undefined) continue;
      const after = verdict.disposable;
      const before = told.get(domain) ?? held.get(domain)!;
      if (before === after) continue;
      const { items: all } = await store.decisions.list(
        { limit: MAX_DECISIONS },
        { domain, since: at - DECISIONS_MS },
      );
      // The domain's verdict did not change. That decision used an override for its email address only.
      if (
        !told.has(domain) &&
        all.some((one) => Number(one.created_at) < changing && verdictOf(one) === after)
      )
        continue;
      // If the domain was reported before, that report covered all of these decisions.
      const found = told.has(domain) ? all : all.filter((one) => verdictOf(one) === before);
      const events = found.map(
        ({ id, ref }): QueuedEvent => ({
          key: `decision.changed/${id}/${manifest.id}/${at}`,
          message: {
            type: "decision.changed",
            data: {
              id,
              ref,
              domain,
              before: { disposable: before },
              after: { disposable: after },
              evidence: verdict.evidence ?? [],
              data_version: manifest.id,
            },
          },
        }),
      );
      if (events.length > 0) await this.queue(events, { domain, disposable: after });
    }
  }
}

/** Returns a function that looks up verdicts on domains. A verdict is undefined for text that is not a domain. */
export function domainVerdicts({ releases, overrides }: Pick<WebhookServices, "releases" | "overrides">) {
  return async (domains: readonly string[]): Promise<readonly (EmailVerdict | undefined)[]> => {
    const release = releases.open();
    if (release === undefined) throw new Error("no data release is loaded");
    const source = { release, overrides: overrides.current, now: Date.now() };
    const caller = { owner: "webhooks", signal: new AbortController().signal };
    const { lookUpValues } = await import("../lookup/operator-lookup.ts"); // loads the language of rules as well
    const found = await lookUpValues(source, domains, 1, caller);
    return (found as { kind: string; email?: EmailVerdict }[]).map(({ kind, email }) =>
      kind === "domain" && email !== undefined && "disposable" in email ? email : undefined,
    );
  };
}

const placeOf = ({ key, webhook }: Dropped) => `${webhook} ${key}`;

/** Creates an event that is the same for all copies that are held while one copy of the feed is in use. */
function heldEvent(
  { id, sets, sha256 = "" }: FeedReport,
  held: { readonly why: string; readonly sha256: string },
): QueuedEvent {
  const hint = `inkling data update --accept ${copyName(id, held.sha256)}`;
  const data = { feed: id, sets, reason: held.why, hint };
  return { key: `feed.held/${id}/${sha256}`, message: { type: "feed.held", data } };
}

/** Creates an event that is the same on each host with this copy of the feed. */
function staleEvent(feed: FeedReport, now: EpochMs): QueuedEvent {
  const { id, sets, sha256 = "", published_at: published = "" } = feed;
  const state = feed.state === "expired" ? "expired" : "stale";
  const data = { feed: id, sets, state, age_seconds: feedAgeSeconds(feed, now) ?? null } as const;
  return { key: `data.stale/${id}/${state}/${sha256}/${published}`, message: { type: "data.stale", data } };
}

const VERDICT: FactName = "email.disposable";

/** Returns the domain verdict that a decision used; undefined if there was no data. */
function verdictOf({ facts }: StoredRow): boolean | undefined {
  const value: unknown = JSON.parse(facts)[VERDICT];
  return typeof value === "boolean" ? value : undefined;
}
