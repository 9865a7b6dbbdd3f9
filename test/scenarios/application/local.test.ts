// Tests @inkling/local as an application gets it: packed, installed, on Node and on Bun. Its answers are compared with
// a server's recorded answers.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { Lookup } from "@inkling/client";
import { appendToOrder, prepareDataFolder, requireCurrentName } from "@inkling/data";
import { makeKeyPair, openStore, Publisher, readPrivateKey } from "@inkling/data/channel";
import { type Exchange, RECORDED } from "../../contract/replay.ts";
import { freePort } from "../../harness/ports.ts";
import { installLocal, run } from "../../harness/published-packages.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "../../harness/release.ts";

const RUNTIMES = [
  ["Node", Bun.which("node")!],
  ["Bun", process.execPath],
] as const;
/** The channel is polled every two to three seconds. The rest is for slow machines. */
const LONGEST_WAIT_MS = 60_000;
const IP = SMALL_NETWORK.replace("0/24", "7");

/** A folder in which the packages are installed as npm would install them. */
const project = temporaryFolder();
/** Data folders of the contract test's servers: `serve` and `up`. */
const contract = temporaryFolder();
const children: Bun.Subprocess[] = [];

/** An application's error, as the application prints it. */
interface Failure {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly hint: string;
}

/** The output of the scenario "answers". */
interface Answered {
  readonly bytes: readonly (string | null | Failure)[];
  readonly objects: readonly (object | null)[];
  readonly many: Readonly<Record<Lookup, readonly (string | null | Failure)[]>>;
  readonly batch: Readonly<Record<Lookup, readonly ({ answer: object; data: object } | Failure)[]>>;
  readonly data: { readonly version: string };
  readonly release: string;
  readonly stopped: string;
}

interface LocalRequest {
  readonly lookup: Lookup;
  readonly value: string;
  readonly extras: Readonly<Record<string, true>>;
}

const isFailure = (it: unknown): it is Failure => typeof it === "object" && it !== null && "message" in it;

/** Runs a scenario of local-e2e.mjs. */
class Application {
  readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly lines: Record<string, unknown>[] = [];
  private readonly read: Promise<void>;

  constructor(runtime: string, scenario: string, input: object) {
    const argument = JSON.stringify({ scenario, ...input });
    this.child = Bun.spawn([runtime, join(project, "local-e2e.mjs"), argument], {
      cwd: project,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    children.push(this.child);
    this.read = this.readLines();
  }

  /** Waits for a line with these fields, and drops all lines up to it. */
  async line(isWanted: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (const end = performance.now() + LONGEST_WAIT_MS; ; ) {
      const found = this.lines.findIndex(isWanted);
      if (found >= 0) return this.lines.splice(0, found + 1).at(-1)!;
      if (this.child.exitCode !== null) throw new Error(`it ended with ${this.child.exitCode}`);
      if (performance.now() > end) throw new Error(`it printed only ${JSON.stringify(this.lines)}`);
      await Bun.sleep(10);
    }
  }

  /** Waits until it exits by itself, and returns its last line. */
  async end(): Promise<Record<string, unknown>> {
    this.child.stdin.end();
    await this.read;
    expect(await this.child.exited).toBe(0);
    return this.lines.at(-1)!;
  }

  private async readLines(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.lines.push(JSON.parse(line));
    }
  }
}

async function buildContractData(): Promise<void> {
  const child = Bun.spawn(
    [process.execPath, resolve(import.meta.dir, "../../contract/server.ts"), contract],
    {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  children.push(child);
  for await (const _ of child.stdout) break; // its servers are running
  child.stdin.end();
  await child.exited;
}

beforeAll(async () => {
  await Promise.all([installLocal(project), buildContractData()]);
  cpSync(join(import.meta.dir, "local-e2e.mjs"), join(project, "local-e2e.mjs"));
});
afterAll(() => {
  for (const child of children) child.kill();
});

/** Returns recorded lookups of one value on a server without overrides, with their responses. */
function recorded(server: "partial" | "lenient"): { request: LocalRequest; status: number; body: string }[] {
  const text = brotliDecompressSync(readFileSync(RECORDED)).toString().trimEnd();
  const seen = new Set<string>();
  return text.split("\n").flatMap((line) => {
    const { response, ...exchange } = JSON.parse(line) as Exchange;
    const { method, target = "", headers = [] } = exchange;
    if (exchange.server !== server || method !== "GET" || exchange.key !== "live" || headers.length > 0)
      return [];
    const found =
      /^\/v1\/(?:ip-intel\/(geolocate|reputation)|user-intel\/(email))\/([^/?]+)(?:\?include=([a-z,]+))?$/.exec(
        target,
      );
    const status = Number(response.status.slice(0, 3));
    if (found === null || seen.has(target) || found[3] === "me") return [];
    if (![200, 400, 404, 503].includes(status) || /"P(?:ATH|ARAMETER)_INVALID"/.test(response.body))
      return [];
    seen.add(target);
    const [, ofAddress, ofEmail, escaped, query] = found;
    const value = decodeURIComponent(escaped!);
    const extras = Object.fromEntries((query?.split(",") ?? []).map((name) => [name, true as const]));
    const request = { lookup: (ofAddress ?? ofEmail) as Lookup, value, extras };
    return [{ request, status, body: response.body }];
  });
}

test.concurrent("has types, which the README's examples use", async () => {
  const readme = readFileSync(resolve(import.meta.dir, "../../../packages/local/README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
  expect(blocks.length).toBe(4);
  blocks.forEach((text, i) => {
    writeFileSync(join(project, `readme-${i}.ts`), text);
  });
  const types = resolve(import.meta.dir, "../../../node_modules/@types/node");
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    strict: true,
    noEmit: true,
    types: [types],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const tsc = resolve(import.meta.dir, "../../../node_modules/.bin/tsc");
  expect(await run([tsc, "-p", "."], project)).toBe("");
});

describe.each(RUNTIMES)("on %s", (_, runtime) => {
  test.concurrent.each(["partial", "lenient"] as const)(
    "answers as the recorded server: %s",
    async (server) => {
      const all = recorded(server);
      const withAnswer = all.filter(({ status }) => status === 200);
      expect(withAnswer.length).toBeGreaterThan(50);
      const options = { data: join(contract, server), allowMissing: server === "lenient" };
      const requests = all.map(({ request }) => request);
      const found = (await new Application(runtime, "answers", {
        options,
        requests,
      }).end()) as never as Answered;
      const wanted = all.map(({ status, body }) => {
        if (status === 200) return body;
        return status === 404 ? null : { code: JSON.parse(body).code, status };
      });
      const plain = <T>(it: T | Failure) => (isFailure(it) ? { code: it.code, status: it.status } : it);
      expect(found.bytes.map(plain)).toEqual(wanted);
      const objects = wanted.map((it) => (typeof it === "string" ? JSON.parse(it) : it));
      expect(found.objects.map(plain)).toEqual(objects);
      for (const lookup of ["geolocate", "reputation", "email"] as const) {
        const isOf = (i: number) =>
          all[i]!.request.lookup === lookup && Object.keys(all[i]!.request.extras).length === 0;
        expect(found.many[lookup].map(plain)).toEqual(wanted.filter((_, i) => isOf(i)));
        const batch = found.batch[lookup].map((it) => ("data" in it ? it.answer : plain(it)));
        expect(batch).toEqual(objects.filter((_, i) => isOf(i)));
      }
      expect(found.data.version).toBe(found.release.slice(-12));
      expect(found.stopped).toBe("enough after 1");
    },
  );

  test.concurrent("takes new releases under load, refuses a damaged one, closes and ends", async () => {
    const data = temporaryFolder();
    smallRelease(data, 1);
    const app = new Application(runtime, "swaps", { options: { data }, ip: IP });
    await app.line(({ city }) => city === "City 1");
    for (const n of [2, 3]) {
      smallRelease(data, n);
      await app.line(({ city }) => city === `City ${n}`);
    }
    putDamaged(data, 4);
    const { refused } = (await app.line((line) => "refused" in line)) as never as { refused: Failure };
    expect(refused.code).toBe("DATA_NOT_LOADED");
    expect(refused.message).toMatch(/ bytes, but the manifest lists /);
    expect(refused.hint).toContain("inkling data");
    smallRelease(data, 5);
    await app.line((line) => "city" in line).then(({ city }) => expect(city).toBe("City 5"));
    const { lookups, mixed, failed, afterwards } = await app.end();
    expect({ mixed, failed }).toEqual({ mixed: 0, failed: 0 });
    expect(lookups as number).toBeGreaterThan(1_000);
    expect(afterwards).toBe("InklingError CLOSED");
  });

  test.concurrent("starts from the release before a damaged one, and reports why", async () => {
    const data = temporaryFolder();
    smallRelease(data, 1);
    putDamaged(data, 2);
    const app = new Application(runtime, "swaps", { options: { data }, ip: IP });
    await app.line(({ city }) => city === "City 1");
    await app.line((line) => "refused" in line);
    await app.end();
  });

  test.concurrent("leaves an exception of the application's to the process, as uncaught", async () => {
    const data = temporaryFolder();
    smallRelease(data, 1);
    const app = new Application(runtime, "throws", { options: { data } });
    const next = async () =>
      expect(await app.line(() => true)).toEqual({ uncaught: `its own: ${requireCurrentName(data)}` });
    await next();
    smallRelease(data, 2);
    await next();
    expect(await app.end()).toEqual({ release: requireCurrentName(data) });
  });

  test.concurrent("follows a channel into an empty folder, and goes on when it is tampered with", async () => {
    const built = temporaryFolder();
    const channel = temporaryFolder();
    const { privatePem, publicKey } = makeKeyPair();
    const publisher = new Publisher({
      store: openStore(channel, {})!,
      channel: "stable",
      privateKey: readPrivateKey(privatePem),
      now: Date.now,
      signal: new AbortController().signal,
    });
    const publish = async (n: number) => {
      smallRelease(built, n);
      await publisher.publish(built, requireCurrentName(built));
    };
    await publish(1);
    const port = freePort();
    const server = Bun.serve({
      port,
      hostname: "127.0.0.1",
      fetch: (request) => {
        const file = join(channel, new URL(request.url).pathname);
        return existsSync(file) ? new Response(Bun.file(file)) : new Response("", { status: 404 });
      },
    });
    try {
      const options = {
        data: temporaryFolder(),
        channel: `http://127.0.0.1:${port}`,
        channelKey: publicKey,
      };
      const app = new Application(runtime, "swaps", { options, ip: IP });
      await app.line(({ city }) => city === "City 1");
      await publish(2);
      await app.line(({ city }) => city === "City 2");
      const path = join(channel, "channels/stable.json");
      const signed = readFileSync(path, "utf8");
      writeFileSync(path, signed.replace(/"payload": ".{8}/, '"payload": "AAAAAAAA'));
      const { refused } = (await app.line((line) => "refused" in line)) as never as { refused: Failure };
      expect(refused.message).toContain("changed after it was signed");
      writeFileSync(path, signed);
      await publish(3);
      await app.line(({ city }) => city === "City 3");
      expect(await app.end()).toMatchObject({ mixed: 0, failed: 0 });
      const other = { ...options, data: temporaryFolder(), channelKey: makeKeyPair().publicKey };
      const [failed] = (await new Application(runtime, "fails", {
        all: [other],
      }).end()) as unknown as object[];
      expect(failed).toMatchObject({
        code: "DATA_NOT_LOADED",
        message: expect.stringContaining("another key"),
      });
    } finally {
      await server.stop(true);
    }
  });

  test.concurrent("decides by the channel's ruleset, and by the last good one when a newer one is none", async () => {
    const built = temporaryFolder();
    const channel = temporaryFolder();
    const { privatePem, publicKey } = makeKeyPair();
    let ruleset: { number: number; text: string } | undefined;
    const publisher = new Publisher({
      store: openStore(channel, {})!,
      channel: "stable",
      privateKey: readPrivateKey(privatePem),
      now: Date.now,
      signal: new AbortController().signal,
      ruleset: async () => ruleset,
    });
    smallRelease(built, 1);
    const publish = (number: number, text: string) => {
      ruleset = { number, text };
      return publisher.publish(built, requireCurrentName(built));
    };
    await publisher.publish(built, requireCurrentName(built));
    const options = { data: temporaryFolder(), channel, channelKey: publicKey };
    const app = new Application(runtime, "decides", { options });
    await app.line(({ ready }) => ready === true);
    const visitor = { event: "sign_up", ip: IP, email: "jane@gmail.com" };
    const decide = async (from: Application, includes = {}) => {
      from.child.stdin.write(`${JSON.stringify({ visitor, options: includes })}\n`);
      return from.line(({ action, code }) => action !== undefined || code !== undefined);
    };
    const untilRuleset = async (number: number) => {
      for (const end = performance.now() + LONGEST_WAIT_MS; performance.now() < end; await Bun.sleep(100)) {
        const decision = await decide(app);
        if (decision.ruleset === number) return decision;
      }
      throw new Error(`ruleset ${number} did not arrive`);
    };
    expect(await decide(app)).toMatchObject({ ruleset: 0, rule: null, shadow: [] });
    const [rule, mode] = [
      '[[rule]]\nname = "small"\nwhen = \'email.domain == "gmail.com"\'\nthen = "deny"\n',
      "mode",
    ];
    await publish(7, `${rule}${mode} = "shadow"\n`);
    const shadowed = await untilRuleset(7);
    expect(shadowed).toMatchObject({ rule: null, shadow: [{ rule: "small", action: "deny" }] });
    expect(shadowed.id).toMatch(/^asm_[0-9A-Za-z]{16}$/);
    await publish(8, `${rule}${mode} = "live"\n`);
    expect(await untilRuleset(8)).toMatchObject({ action: "deny", rule: "small", shadow: [] });
    const explained = await decide(app, { evidence: true, facts: true });
    expect(explained).toMatchObject({
      ip: { reputation: { evidence: expect.any(Array) } },
      email: { valid: true },
      facts: { event: "sign_up", "email.domain": "gmail.com" },
    });

    await publish(9, "when = this version has no such thing");
    const { refused } = await app.line((line) => "refused" in line);
    expect(refused).toContain("cannot evaluate the channel's ruleset 9");
    expect(await decide(app)).toMatchObject({ action: "deny", ruleset: 8 });
    await app.end();

    const again = new Application(runtime, "decides", { options });
    await again.line((line) => "refused" in line);
    expect(await decide(again)).toMatchObject({ action: "deny", ruleset: 8 });
    await again.end();
    const own = new Application(runtime, "decides", {
      options: { ...options, ruleset: 'on_missing = "deny"' },
    });
    expect(await decide(own)).toMatchObject({ ruleset: 1, rule: null });
    await own.end();
  });

  test.concurrent("names what is wrong with a visitor or with a ruleset", async () => {
    const data = temporaryFolder();
    smallRelease(data, 1);
    const app = new Application(runtime, "decides", { options: { data } });
    for (const [visitor, code, message] of [
      [{ ip: IP }, "BODY_INVALID", /event: is required/],
      [{ event: "login", ip: "81.2" }, "IP_ADDRESS_INVALID", /Not an IP address/],
      [{ event: "login", ip: "10.0.0.1" }, "IP_ADDRESS_RESERVED", /private address/],
    ] as const) {
      app.child.stdin.write(`${JSON.stringify({ visitor })}\n`);
      const found = await app.line((line) => "code" in line);
      expect(found.code).toBe(code);
      expect(found.message).toMatch(message);
    }
    await app.end();
    const fails = new Application(runtime, "fails", {
      all: [
        { data, ruleset: "[[rule]]" },
        { data, ruleset: 7 },
      ],
    });
    const [wrong, number] = (await fails.end()) as unknown as { message: string }[];
    expect(wrong?.message).toMatch(/^@inkling\/local: ruleset is not a valid ruleset: line 1/);
    expect(number?.message).toMatch(/must be the text of a ruleset/);
  });

  test.concurrent("names what is wrong with its options or its folder", async () => {
    const key = "A".repeat(43);
    const all: [options: object, message: RegExp][] = [
      [{ data: "" }, /data must be/],
      [{ data: "/nowhere/at/all" }, /\/nowhere\/at\/all does not exist \(DATA_NOT_LOADED\)/],
      [{ data: "x", channel: "ftp://x" }, /channel must be/],
      [{ data: "x", channel: "https://x" }, /channelKey must be/],
      [{ data: "x", channel: "https://x", channelKey: "short" }, /43 characters/],
      [{ data: "x", channelKey: "short" }, /set `channel` as well/],
      [{ data: "x", channel: "s3://bucket", channelKey: key }, /needs credentials/],
      [{ data: "x", allowMissing: "yes" }, /allowMissing must be/],
    ];
    const app = new Application(runtime, "fails", { all: all.map(([options]) => options) });
    const found = (await app.end()) as unknown as { message: string }[];
    for (const [i, [, message]] of all.entries()) expect(found[i]?.message).toMatch(message);
  });
});

test.concurrent("on Bun, where files are mapped, tries a release again that could not be", async () => {
  const data = temporaryFolder();
  smallRelease(data, 1);
  const app = new Application(process.execPath, "mapsLater", { options: { data } });
  await app.line((line) => "release" in line);
  smallRelease(data, 2);
  const { refused } = (await app.line((line) => "refused" in line)) as never as { refused: Failure };
  expect(refused).toMatchObject({
    code: "DATA_NOT_LOADED",
    message: expect.stringContaining("EMFILE: too many open files"),
    hint: expect.stringContaining("inkling data status"),
  });
  const next = await app.line(() => true); // the reason is reported only once
  expect(next.release).toBe(requireCurrentName(data));
  const [first, second, third] = next.tries as [number, number, number];
  expect(second - first).toBeGreaterThan(1_000);
  expect(third - second).toBeGreaterThan(2_000);
  await app.end();
});

/** Puts a release with one wrong byte in its geo segment into use. */
function putDamaged(data: string, n: number): void {
  const elsewhere = temporaryFolder();
  const { files } = smallRelease(elsewhere, n);
  const [geo] = files;
  truncateSync(geo!, statSync(geo!).size - 1);
  prepareDataFolder(data);
  for (const file of files) cpSync(file, join(data, "segments", file.split("/").at(-1)!));
  const name = requireCurrentName(elsewhere);
  cpSync(join(elsewhere, `releases/${name}.json`), join(data, `releases/${name}.json`));
  mkdirSync(join(data, "feeds"), { recursive: true });
  appendToOrder(data, name);
  writeFileSync(join(data, "current"), `${name}\n`);
}
