// up-hours.test.ts: simulates hours of `inkling up` in a minute: the real command and its builds on fast clocks
// (fast-clock.ts). The first run has our own publisher, whose lists become bad halfway through; the second has an
// offline folder. Lookups run all the time. None may fail, and entries of good lists must always be flagged.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { fastClock } from "../../harness/fast-clock.ts";
import { inkling, LAUNCHER, Program } from "../../harness/inkling.ts";
import { freePort } from "../../harness/ports.ts";
import { freshMirror, LISTS_ALONE } from "../../harness/release.ts";
import { share } from "../../harness/share.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const { INKLING_MIRROR: _, INKLING_VECTORS: __, ...env } = process.env;
/** A proxy that is on no list before the publisher's next file. */
const NEW_PROXY = "81.2.69.142";
const HOURLY = ["tor-bulk-exits", "tor-onionoo", "monosans-proxies"];
/** The bad content of the lists, and the expected reasons in the log. */
const POISON: Readonly<Record<string, { body: string; reason: RegExp }>> = {
  "tor-bulk-exits": { body: "0.0.0.0/0\n", reason: /widest|too wide/ },
  "tor-onionoo": { body: '{"relays":[{"or_addr', reason: /JSON/ },
  "monosans-proxies": { body: "<!doctype html><title>We are moving</title>", reason: /is a web page/ },
};

/** A publisher whose content can be replaced. */
interface Source {
  /** The source as flags of the command. */
  readonly flags: readonly string[];
  put(file: string, body: string | Uint8Array): void;
  /** How often a list was fetched; undefined if lists are not fetched. */
  fetches?(feed: string): number;
}

const temp = temporaryFolder();
const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

function publisher(): Source {
  const files = new Map<string, string | Uint8Array>();
  const counts = new Map<string, number>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const name = new URL(request.url).pathname.slice(1);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const body = files.get(name);
      if (body === undefined) return new Response("not here", { status: 404 });
      const etag = `"${Bun.hash(body).toString(36)}"`;
      if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304 });
      return new Response(body, { headers: { etag } });
    },
  });
  cleanUps.push(() => server.stop(true));
  return {
    flags: ["--mirror", `http://127.0.0.1:${server.port}`],
    put: (file, body) => void files.set(file, body),
    fetches: (feed) => [...counts].find(([name]) => name.startsWith(`${feed}.`))?.[1] ?? 0,
  };
}

function folder(): Source {
  const path = join(temp, "mirror");
  mkdirSync(path);
  return {
    flags: ["--offline", "--mirror", path],
    put: (file, body) => {
      writeFileSync(join(temp, file), body);
      renameSync(join(temp, file), join(path, file));
    },
  };
}

/** The command line on a fast clock, with its own data folder. */
class FastInkling {
  readonly base: string;
  private readonly dataDir: string;
  private readonly env: Record<string, string | undefined>;
  private readonly ports: readonly string[];
  private up!: Program;

  constructor(name: string, factor: number) {
    this.dataDir = join(temp, name);
    mkdirSync(this.dataDir);
    writeFeedChoice(this.dataDir, LISTS_ALONE); // hours change only lists
    const clock = join(temp, `${name}-clock.ts`);
    writeFileSync(clock, fastClock(Date.now(), factor));
    this.env = { ...env, BUN_OPTIONS: `--preload ${clock}` };
    const [port, adminPort] = [freePort(), freePort()];
    this.base = `http://127.0.0.1:${port}`;
    // No rate limit, because the number of lookups per second depends on the machine.
    this.ports = ["--port", String(port), "--admin-port", String(adminPort), "--rate", "0"];
  }

  /** @returns an API key, once the server is ready */
  async start(source: Source): Promise<string> {
    const args = ["up", ...this.ports, ...source.flags, "--data-dir", this.dataDir];
    this.up = new Program([...LAUNCHER, ...args], { cwd: temp, env: this.env });
    await this.until("it served", () => this.up.out.includes("Ctrl-C stops."));
    return /ink_live_\w+/.exec(readFileSync(join(this.dataDir, "first-keys.txt"), "utf8"))![0];
  }

  until(what: string, isSo: () => unknown): Promise<void> {
    return this.up.until(what, isSo);
  }

  /**
   * Runs another command on the same data folder until it exits. Repeats it while a build of the server is
   * running.
   */
  async run(...args: string[]): Promise<void> {
    for (;;) {
      const options = { cwd: temp, env: this.env };
      const { code, out, err } = await inkling([...args, "--data-dir", this.dataDir], options);
      if (code !== 1) return;
      if (!err.includes("another build is running")) throw new Error(`${args.join(" ")}: ${out}${err}`);
      await Bun.sleep(200);
    }
  }

  stop(): Promise<number> {
    return this.up.stop();
  }

  /** Returns the logged events with this name about a feed. */
  logged(event: string, feed: string): Record<string, unknown>[] {
    return this.up.events(event).filter((line) => line.feed === feed);
  }
}

const SCENES: [name: string, source: () => Source, factor: number][] = [
  ["a publisher", publisher, 900],
  ["an offline folder", folder, 900],
];

describe("hours of inkling up", () => {
  test.each(share(SCENES, SCENES.slice(0, 1)))(
    "with %s: poison, an operator's override, rollback and unpin",
    async (name, makeSource, factor) => {
      const source = makeSource();
      const mirror = freshMirror();
      for (const file of readdirSync(mirror)) source.put(file, readFileSync(join(mirror, file)));
      const nameOf = (feed: string) => readdirSync(mirror).find((file) => file.startsWith(`${feed}.`))!;
      const good = (feed: string) => readFileSync(join(mirror, nameOf(feed)), "utf8");

      const hours = new FastInkling(name.replaceAll(" ", "-"), factor);
      const key = await hours.start(source);
      const headers = { authorization: `Bearer ${key}` };
      const lookUp = async (ip: string) => {
        const response = await fetch(`${hours.base}/v1/ip-intel/reputation/${ip}`, { headers });
        if (response.status !== 200) throw new Error(`${ip}: ${response.status} ${await response.text()}`);
        return (await response.json()) as Record<"is_abuser" | "is_proxy" | "is_tor_exit", boolean>;
      };

      // Entries of lists that remain good, or become good again, are always flagged.
      const exits = good("tor-bulk-exits").trim().split("\n");
      const [unflagged, exit] = [exits[0]!, exits[1]!];
      const proxies: { host: string; exit_ip: string }[] = JSON.parse(good("monosans-proxies"));
      const proxy = (await findProxy(proxies, lookUp))!;
      let lookups = 0;
      let ended = false;
      const lookUps = (async () => {
        for (; !ended; lookups += 2) {
          if (!(await lookUp(exit)).is_tor_exit) throw new Error(`${exit} was forgotten`);
          if (!(await lookUp(proxy)).is_proxy) throw new Error(`${proxy} was forgotten`);
          await Bun.sleep(5);
        }
      })();
      const failed = lookUps.then(
        () => undefined,
        (error: Error) => error,
      );

      // The operator's override applies at once, and through every later build.
      expect((await lookUp(unflagged)).is_tor_exit).toBe(true);
      await hours.run("overrides", "add", unflagged, "--flag", "is_tor_exit=false", "--note", "ours");
      await hours.until("the override held", async () => !(await lookUp(unflagged)).is_tor_exit);

      for (const [feed, { body }] of Object.entries(POISON)) source.put(nameOf(feed), body);
      for (const [feed, { reason }] of Object.entries(POISON)) {
        await hours.until(`${feed} was held`, () => hours.logged("feed-held", feed).length > 0);
        expect(hours.logged("feed-held", feed)[0]).toMatchObject({
          state: "loaded",
          reason: expect.stringMatching(reason),
        });
      }
      expect((await lookUp(NEW_PROXY)).is_proxy).toBe(false);

      const more = [...proxies, { ...proxies[0]!, host: NEW_PROXY, exit_ip: NEW_PROXY }];
      for (const feed of HOURLY) source.put(nameOf(feed), good(feed));
      source.put(nameOf("monosans-proxies"), JSON.stringify(more));
      for (const feed of HOURLY)
        await hours.until(
          `${feed} was good again`,
          () => hours.logged("feed-updated-again", feed).length > 0,
        );
      await hours.until("the new list was in use", async () => (await lookUp(NEW_PROXY)).is_proxy);
      expect((await lookUp(unflagged)).is_tor_exit).toBe(false);

      // Goes back to the release without the new proxy. It remains in use, whatever is built, until it is unpinned.
      await hours.run("data", "rollback");
      await hours.until("the release before was in use", async () => !(await lookUp(NEW_PROXY)).is_proxy);
      source.put(nameOf("tor-bulk-exits"), `${good("tor-bulk-exits").trim()}\n81.2.69.143\n`);
      await hours.run("data", "update", ...source.flags);
      expect([(await lookUp(NEW_PROXY)).is_proxy, (await lookUp("81.2.69.143")).is_tor_exit]).toEqual([
        false,
        false,
      ]);
      await hours.run("data", "unpin");
      await hours.until("the newest was in use", async () => (await lookUp("81.2.69.143")).is_tor_exit);
      expect([(await lookUp(NEW_PROXY)).is_proxy, (await lookUp(unflagged)).is_tor_exit]).toEqual([
        true,
        false,
      ]);

      ended = true;
      expect(await failed).toBeUndefined();
      expect(lookups).toBeGreaterThan(200);
      for (const feed of HOURLY) if (source.fetches) expect(source.fetches(feed)).toBeGreaterThan(2);
      expect(await hours.stop()).toBe(0);
    },
  );
});

/** Returns a proxy from the list that is not a relay. */
async function findProxy(
  proxies: readonly { readonly exit_ip: string }[],
  lookUp: (ip: string) => Promise<{ is_proxy: boolean }>,
): Promise<string | undefined> {
  for (const { exit_ip } of proxies) if ((await lookUp(exit_ip)).is_proxy) return exit_ip;
  return undefined;
}
