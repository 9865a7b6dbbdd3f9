// Tests with Prometheus, which scrapes two real servers, one with workers and PostgreSQL, the other with SQLite and a
// channel. Every query of the dashboard and the rules returns series, and no alert fires while the servers are healthy.
// Each alert fires for its fault (`npm run test:full`).

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import {
  DATA_FOLDER,
  publish,
  releaseId,
  replaceJson,
  requireCurrent,
  segmentFiles,
  verifyRelease,
} from "@inkling/data";
import {
  ChannelFollower,
  makeKeyPair,
  openStore as openChannelStore,
  openReader,
  Publisher,
  readPrivateKey,
} from "@inkling/data/channel";
import { type FeedReport, type FeedsReport, type Release, releaseName } from "@inkling/engine";
import { keepFollowing } from "../../packages/cli/src/runtime/follow-channel.ts";
import { type RunningServer, startServer } from "../../packages/server/src/run/server.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { startDnsServer } from "../harness/dns-server.ts";
import { Postgres } from "../harness/postgres.ts";
import { tried } from "../harness/recorded-rows.ts";
import { GEOLOCATE, SMALL_NETWORK, smallRelease, temporaryFolder } from "../harness/release.ts";
import { testServerOptions } from "../harness/server-options.ts";
import { ServerProgram } from "../harness/server-program.ts";
import { FULL } from "../harness/share.ts";
import { onSignal } from "../harness/thread-faults.ts";
import { freshToken } from "../harness/tokens.ts";
import { until } from "../harness/until.ts";
import { Prometheus } from "./prometheus.ts";
import { ALERTS, QUERIES, RULES_TEXT } from "./watched.ts";

/**
 * Alerts that depend on the machine, or on an absent or overloaded program. Only promtool tests them, with made-up
 * series (inkling.rules.test.yml).
 */
const OF_MACHINE = [
  "InklingAbsent",
  "InklingSlow",
  "InklingClockWrong",
  "InklingWebhooksDropped",
  "InklingDecisionsWait",
  "InklingDecisionsDropped",
  "InklingDecisionsNearLimit",
  "InklingNoticesLost",
];
/**
 * Seconds instead of minutes. A scrape that comes late on a busy machine must not look like a server that is
 * down.
 */
const WINDOW = "[10s]";
const shortened = RULES_TEXT.replaceAll(/for: \w+/g, "for: 3s")
  .replaceAll(/\[\d+m\]/g, WINDOW)
  .replace("inkling_usage_oldest_seconds > 60", "inkling_usage_oldest_seconds > 3");
/**
 * The queries of the rules without their thresholds, so that a healthy server also returns series for them.
 */
const RULE_QUERIES = ALERTS.flatMap(({ expr }) => expr.split(/ (?:or|and) /)).map((expr) =>
  expr
    .replace(/^absent\((.*)\)$/, "$1")
    .replace(/ (>|==) [\d.]+$/, "")
    .replaceAll(/\[\d+m\]/g, WINDOW),
);
const ALL_QUERIES = [
  ...QUERIES.map((query) => query.replaceAll("$instance", ".*").replaceAll("[$__rate_interval]", WINDOW)),
  ...RULE_QUERIES,
];

const program = Bun.which("prometheus");
if (program === null)
  test.skip("the alerts and the dashboard with Prometheus: it is not installed", () => {});
else suite(program);

const now = () => new Date().toISOString();
const feed = (change: Partial<FeedReport> = {}): FeedReport => ({
  id: "tor-onionoo",
  sets: "is_tor_exit",
  source: "fetched",
  state: "loaded",
  entries: 700,
  licence: "CC0-1.0",
  fetched_at: now(),
  checked_at: now(),
  failures: 0,
  ...change,
});

/** Creates a small release with other facts, such as its time. */
function release(dataDir: string, n: number, change: Partial<Release>): string {
  smallRelease(dataDir, n, [], change.feeds);
  const { id: _, ...made } = requireCurrent(dataDir).manifest;
  const content = { ...made, ...change };
  const manifest: Release = { ...content, id: releaseId(content) };
  publish(dataDir, manifest);
  return releaseName(manifest);
}

function suite(program: string): void {
  const stopped = new AbortController();
  const { signal } = stopped;
  const token = freshToken();
  const keys = makeKeyPair();
  const builder = temporaryFolder();
  const store = temporaryFolder();
  const dataDir = temporaryFolder();
  const publisher = new Publisher({
    store: openChannelStore(store, {})!,
    channel: "stable",
    privateKey: readPrivateKey(keys.privatePem),
    now: Date.now,
    signal,
  });
  let postgres: Postgres;
  let dns: Awaited<ReturnType<typeof startDnsServer>>;
  let group: ServerProgram;
  let single: RunningServer;
  let following: Promise<void>;
  let prometheus: Prometheus;
  let load: Promise<void>;

  beforeAll(async () => {
    postgres = await Postgres.create();
    dns = await startDnsServer(() => ({ answers: [] }));
    const groupDir = temporaryFolder();
    release(groupDir, 1, { created_at: now(), feeds: [feed()] });
    group = new ServerProgram({
      dataDir: groupDir,
      token,
      env: {
        INKLING_DATABASE_URL: await postgres.freshDatabase(),
        INKLING_MAX_STALE_SECONDS: "6",
        ...onSignal({ workersBelow: 20 }, "throw new Error()"),
      },
    });

    await publisher.publish(builder, release(builder, 2, { created_at: now(), feeds: [feed()] }));
    const follower = new ChannelFollower({
      store: openReader(store, {}),
      channel: "stable",
      publicKeys: [keys.publicKey],
      dataDir,
      verify: verifyRelease,
      now: Date.now,
    });
    await follower.follow(signal);
    single = await startServer({
      ...testServerOptions(dataDir),
      apiKey: token,
      dnsServers: [`127.0.0.1:${dns.port}`],
      checkMs: 200,
      writeLog: () => {},
    });
    following = keepFollowing(
      follower,
      { channel: store, dataDir, databaseUrl: `sqlite://${dataDir}/inkling.db` } as Settings,
      { env: {}, signal },
      single,
    );
    await until(() =>
      fetch(`http://127.0.0.1:${group.port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const targets = [group.adminPort, single.adminPort].map((port) => `127.0.0.1:${port}`);
    prometheus = await Prometheus.start(program, targets, shortened);
    load = traffic();
  });

  afterAll(async () => {
    stopped.abort();
    await Promise.allSettled([load, following]);
    await prometheus?.stop();
    await single?.stop();
    group?.child.kill("SIGKILL");
    dns?.stop();
    await postgres?.close();
  });

  async function get(port: number, path: string, init: RequestInit & { key?: string } = {}): Promise<void> {
    const { key = token, ...rest } = init;
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(rest.body ? { "Content-Type": "application/json" } : {}),
    };
    // A fault may end any request. The metrics show whether the requests as a whole behave as expected.
    await fetch(`http://127.0.0.1:${port}${path}`, { ...rest, headers }).then(
      (response) => response.arrayBuffer(),
      () => {},
    );
  }

  const state = { refused: false };

  /** Requests every route on both servers, twice a second. */
  async function traffic(): Promise<void> {
    for (let round = 0; !signal.aborted; round++) {
      for (const port of [group.port, single.port]) {
        const address = SMALL_NETWORK.replace("0/24", String(round % 256));
        const body = JSON.stringify({ ip_addresses: [address] });
        await Promise.all([
          get(port, GEOLOCATE),
          get(port, `/v1/ip-intel/reputation/${address}`),
          get(
            port,
            `/v1/user-intel/email/a%40domain-${round}.com${port === single.port ? "?checks=mx" : ""}`,
          ),
          get(port, "/v1/ip-intel/geolocate", { method: "POST", body }),
          get(port, "/v1/status"),
          ...(round % 5 === 0 ? [get(port, "/v1/ip-intel/geolocate/999"), get(port, "/nowhere")] : []),
          ...Array.from({ length: state.refused ? 4 : 0 }, () => get(port, GEOLOCATE, { key: freshToken() })),
        ]);
      }
      if (round % 5 === 0) await get(single.adminPort, "/admin/v1/keys", { key: "none" });
      await Bun.sleep(400);
    }
  }

  /** Returns "InklingDown 127.0.0.1:1234" for each alert that has fired so far. */
  async function fired(): Promise<string[]> {
    const samples = await prometheus.query(
      `max_over_time(ALERTS{alertstate="firing", alertname!~"${OF_MACHINE.join("|")}"}[10m])`,
    );
    return samples.map(({ metric }) => `${metric.alertname} ${metric.instance}`);
  }

  /**
   * Maximum number of checks, each a quarter of a second or more. After that, the test reports what is
   * missing.
   */
  const MAX_LOOKS = 600;
  async function eventually(isSo: () => Promise<boolean>): Promise<void> {
    for (let looks = 0; looks < MAX_LOOKS && !(await isSo()); looks++) await Bun.sleep(250);
  }

  const missing = new Set(ALL_QUERIES);
  async function look(): Promise<void> {
    for (const query of missing) {
      const values = (await prometheus.query(query)).map(({ value }) => Number(value[1]));
      if (values.some((value) => !Number.isNaN(value))) missing.delete(query);
    }
  }
  /** Series that only a server in trouble has. */
  const OF_FAULTS =
    /inkling_(answer_missing|channel_refused)\b|inkling_feed_consecutive_failures.*> 0|5\.\.|401/;

  test("while the servers are well every query returns series, and no alert fires", async () => {
    const ofHealth = () => [...missing].filter((query) => !OF_FAULTS.test(query));
    await eventually(async () => {
      await look();
      return ofHealth().length === 0;
    });
    expect(ofHealth()).toEqual([]);
    const since = Date.now();
    await eventually(async () => Date.now() - since > 5_000); // longer than any `for`
    expect(await fired()).toEqual([]);
    const up = await prometheus.query("up");
    expect(up.map(({ value }) => value[1])).toEqual(["1", "1"]);
    const what = "scraping two servers: every query of the dashboard and of the alert rules returns series";
    tried(import.meta.path, "Prometheus", [program, "--version"], what);
  });

  test.skipIf(!FULL)("every alert fires in its fault", async () => {
    // Publishes another release on the channel: old, without data for a flag, and with a stale feed.
    const bad = feed({ stale: true, failures: 3, error: "made up" });
    const old = release(builder, 3, {
      created_at: new Date(Date.now() - 3 * 86_400_000).toISOString(),
      feeds: [bad],
      missing: ["is_proxy"],
    });
    await publisher.publish(builder, old);
    await until(() => requireCurrent(dataDir).name === old);
    const report: FeedsReport = {
      format: 1,
      at: now(),
      release: old,
      feeds: [{ ...bad, held: { sha256: "0".repeat(64), why: "made up" } }],
    };
    replaceJson(join(dataDir, DATA_FOLDER.feedsReport), report);
    const on = (port: number, ...names: string[]) => names.map((name) => `${name} 127.0.0.1:${port}`);
    const expected = on(
      single.adminPort,
      "InklingReleaseOld",
      "InklingAnswersMissing",
      "InklingServerErrors",
      "InklingFeedStale",
      "InklingFeedFails",
      "InklingFeedHeld",
    );
    const expectAll = async () => {
      const lacking = async () => {
        const have = await fired();
        return expected.filter((one) => !have.includes(one));
      };
      await eventually(async () => {
        await look();
        return (await lacking()).length === 0;
      });
      expect(await lacking()).toEqual([]);
    };
    await expectAll();

    // Sends requests with unknown keys.
    state.refused = true;
    // Changes the channel's statement without the key.
    const statement = join(store, "channels/stable.json");
    const envelope = JSON.parse(readFileSync(statement, "utf8"));
    const payload = Buffer.from(envelope.payload, "base64").toString();
    envelope.payload = Buffer.from(payload.replace('"percent":100', '"percent":99')).toString("base64");
    writeFileSync(statement, JSON.stringify(envelope));
    // Ends workers, more than two of them within the window.
    await until(async () => {
      group.child.kill("SIGUSR2");
      await Bun.sleep(200);
      return group.events("worker-died").length >= 6;
    });
    expected.push(
      ...on(single.adminPort, "InklingRequestsRefused", "InklingChannelRefused"),
      ...on(single.adminPort, "InklingChannelForged"),
      ...on(group.adminPort, "InklingRestarts"),
    );
    await expectAll();
    state.refused = false;

    // Removes the databases, and truncates a release's files.
    await until(() =>
      fetch(`http://127.0.0.1:${group.port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    await postgres.kill();
    for (const file of readdirSync(dataDir).filter((name) => name.startsWith(DATA_FOLDER.database)))
      rmSync(join(dataDir, file));
    for (const file of segmentFiles(dataDir, requireCurrent(dataDir).name)) rmSync(file, { force: true });
    expected.push(
      ...on(single.adminPort, "InklingDatabaseUnreachable", "InklingReleaseRefused"),
      ...on(
        group.adminPort,
        "InklingDatabaseUnreachable",
        "InklingUsageNotStored",
        "InklingGroupUnreachable",
      ),
      ...on(group.adminPort, "InklingKeysRefused", "InklingNotReady"),
    );
    await expectAll();
    expect([...missing]).toEqual([]);

    group.child.kill("SIGTERM");
    expected.push(...on(group.adminPort, "InklingDown"));
    await expectAll();

    const names = new Set((await fired()).map((one) => one.split(" ")[0]));
    expect(ALERTS.map(({ alert }) => alert).filter((name) => !names.has(name))).toEqual(OF_MACHINE);
    const { alerts } = await prometheus.get<{ alerts: { annotations: Record<string, string> }[] }>(
      "/api/v1/alerts",
    );
    const texts = alerts.flatMap(({ annotations }) => Object.values(annotations));
    expect(texts.length).toBeGreaterThan(20);
    expect(texts.filter((text) => /<no value>|<error|\{\{/.test(text))).toEqual([]);
  });
}
