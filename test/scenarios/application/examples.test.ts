// examples.test.ts: runs every example on Node against a real server with a small release. Checks the output
//
// Each folder of examples/ has a row in EXAMPLES; a folder without a row fails.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { faultsOf, launchBrowser, openPage } from "../../harness/browser.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { installClient, run } from "../../harness/published-packages.ts";
import {
  SMALL_NETWORK,
  smallCity,
  smallDomain,
  smallRelease,
  temporaryFolder,
} from "../../harness/release.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const FOLDER = join(ROOT, "examples");
const EXAMPLES: Readonly<Record<string, () => void>> = {
  "protected-sign-up": protectedSignUp,
  fastify: fastifyCheckout,
  "sign-up-form": signUpForm,
  "nightly-enrich": nightlyEnrich,
};
const NODE = Bun.which("node")!;
const DAY_MS = 86_400_000;
/** Where the examples in the READMEs listen. */
const README_ORIGIN = "http://127.0.0.1:3000";
/** No service has port 2, and only root could listen there. */
const NOWHERE = "http://127.0.0.1:2";
/** An address in the network that the small release has data for. */
const ADDRESS = SMALL_NETWORK.replace("0/24", "142");

/** The examples, with the packed client installed in their parent folder as npm would install it. */
const project = temporaryFolder();
const children: Bun.Subprocess[] = [];
let inkling: SmallServer;

beforeAll(async () => {
  cpSync(FOLDER, project, { recursive: true });
  [inkling] = await Promise.all([startSmallServer(), installClient(project)]);
});
afterAll(async () => {
  for (const child of children) child.kill();
  await inkling.server.stop();
});

const readmeOf = (name: string) => readFileSync(join(FOLDER, name, "README.md"), "utf8");

/**
 * Starts an example's server with the sandbox key, unless `environment` sets another.
 * @returns its origin, which the server prints
 */
async function startExample(name: string, environment: Readonly<Record<string, string>> = {}) {
  const child = Bun.spawn([NODE, "server.mjs"], {
    cwd: join(project, name),
    env: { ...process.env, PORT: "0", SERVER: inkling.origin, KEY: inkling.keys.test, ...environment },
    stdout: "pipe",
    stderr: "pipe",
  });
  children.push(child);
  const { value } = await child.stdout.getReader().read();
  const origin = /^Listening on (http:\S+)\n$/.exec(new TextDecoder().decode(value))?.[1];
  if (origin === undefined)
    throw new Error(`${name} did not start: ${await new Response(child.stderr).text()}`);
  expect(readmeOf(name)).toContain(`Listening on ${README_ORIGIN}\n`);
  return { origin, stderr: child.stderr };
}

async function post(url: string, body: unknown, from?: string) {
  const headers = { "Content-Type": "application/json", ...(from && { "X-Forwarded-For": from }) };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return [response.status, (await response.json()) as Record<string, unknown>] as const;
}

/** Runs the README's curl commands, and compares their output with the block below each. */
async function runReadme(name: string, origin: string): Promise<void> {
  const commands = [...readmeOf(name).matchAll(/^curl (.*)\n```\n\n```(?:json|html)?\n([^`]*)```$/gm)];
  expect(commands.length).toBeGreaterThanOrEqual(3);
  for (const [, args, printed] of commands)
    expect(
      (await run(["sh", "-c", `curl -sS ${args!.replace(README_ORIGIN, origin)}`], project)).trim(),
    ).toBe(printed!.trim());
}

describe("examples/", () => {
  const problems = (folders: readonly string[], index: string) =>
    folders.flatMap((name) => [
      ...(name in EXAMPLES ? [] : [`${name}: no row in EXAMPLES`]),
      ...(index.includes(`[${name}](${name})`) ? [] : [`${name}: no line in the index`]),
    ]);
  const folders = readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const index = readFileSync(join(FOLDER, "README.md"), "utf8");

  test("every folder has a row here and a line in the index", () => {
    expect(problems(folders, index)).toEqual([]);
    expect(Object.keys(EXAMPLES).sort()).toEqual(folders.sort());
  });
  test("a folder without them is reported", () => expect(problems(["hono"], index)).toHaveLength(2));
});

describe.each(Object.entries(EXAMPLES))("%s", (_, body) => body());

function protectedSignUp(): void {
  const name = "protected-sign-up";
  const signUp = async (origin: string, email: string | undefined, from: string, confirmed = "") => {
    const response = await fetch(`${origin}/sign-up`, {
      method: "POST",
      headers: { "X-Forwarded-For": from },
      body: new URLSearchParams(email === undefined ? {} : { email, confirmed }),
    });
    const text = await response.text();
    const [, sentence] = /role="alert">(.+?)</.exec(text) ?? [];
    return [response.status, sentence ?? (JSON.parse(text) as { account?: string }).account];
  };
  let sandbox: string;
  let live: string;
  beforeAll(async () => {
    [sandbox, live] = (await Promise.all(
      [{}, { KEY: inkling.keys.live }].map(async (over) => (await startExample(name, over)).origin),
    )) as [string, string];
  });

  test("prints what its README shows", () => runReadme(name, sandbox));
  test("has a form", async () => expect(await (await fetch(sandbox)).text()).toContain('name="email"'));

  const rows: [
    what: string,
    email: string | undefined,
    from: string,
    status: number,
    account: string | undefined,
  ][] = [
    ["an abuser", "jane@example.com", "192.0.2.4", 201, "to be confirmed"],
    [
      "an abuser that sends another address",
      "jane@example.com",
      "192.0.2.1, 192.0.2.4",
      201,
      "to be confirmed",
    ],
    ["all flags", "jane@example.com", "192.0.2.7", 403, "We cannot create this account. Please contact us."],
    ["no valid address", "jane", "192.0.2.1", 422, "Please check the email address."],
    ["no email address", undefined, "192.0.2.1", 422, "Please check the email address."],
    ["a mistyped address", "jane@mistyped.example", "192.0.2.1", 422, "Did you mean jane@example.com?"],
    ["markup", '"<b>"@mistyped.example', "192.0.2.1", 422, "Did you mean &quot;&lt;b&gt;&quot;@example.com?"],
    ["a server error", "jane@example.com", "203.0.113.16", 201, "to be confirmed"],
    ["a rate that is used up", "jane@example.com", "203.0.113.14", 503, undefined],
  ];
  test.each(rows)("%s", async (_, email, from, status, account) => {
    expect(await signUp(sandbox, email, from)).toEqual([status, account]);
  });

  test("an unusual address is taken when the visitor confirms it, an invalid one never", async () => {
    const mistyped = "jane@mistyped.example";
    expect((await signUp(sandbox, mistyped, "192.0.2.1", mistyped))[0]).toBe(201);
    expect((await signUp(sandbox, mistyped, "192.0.2.1", "jane@example.com"))[0]).toBe(422);
    expect((await signUp(sandbox, mistyped, "192.0.2.7", mistyped))[0]).toBe(403);
    expect((await signUp(sandbox, "jane", "192.0.2.1", "jane"))[0]).toBe(403);
  });

  test("with the data of a release", async () => {
    expect((await signUp(live, `jane@${smallDomain(1)}`, "8.8.8.8"))[0]).toBe(403);
    expect(await signUp(live, "jane@gmail.con", "8.8.8.8")).toEqual([422, "Did you mean jane@gmail.com?"]);
    expect((await signUp(live, "jane@gmail.com", "8.8.8.8"))[0]).toBe(201);
  });

  test("no server: accounts are to be confirmed, and the log says so once", async () => {
    const { origin, stderr } = await startExample(name, { SERVER: NOWHERE });
    for (let i = 0; i < 2; i++)
      expect(await signUp(origin, "jane@example.com", "192.0.2.1")).toEqual([201, "to be confirmed"]);
    const { value } = await stderr.getReader().read();
    const lines = new TextDecoder().decode(value).match(/without a decision: CONNECTION_FAILED/g);
    expect(lines).toHaveLength(1);
    expect(readmeOf(name)).toContain("protect() let a visitor in without a decision: CONNECTION_FAILED");
  });
}

function fastifyCheckout(): void {
  const name = "fastify";
  const checkOut = (origin: string, card_country: unknown, from: string) =>
    post(`${origin}/checkout`, { card_country }, from);
  let origin: string;
  beforeAll(async () => {
    origin = (await startExample(name)).origin;
  });

  test("prints what its README shows", () => runReadme(name, origin));

  const rows: [what: string, country: unknown, from: string, status: number, order: string | undefined][] = [
    ["the country of the card", "GB", "192.0.2.1", 200, "accepted"],
    ["another country", "US", "192.0.2.1", 200, "review"],
    ["an address that no feed knows", "GB", "192.0.2.3", 200, "review"],
    ["a proxy", "GB", "192.0.2.5", 200, "accepted"],
    ["an abuser", "GB", "192.0.2.4", 403, undefined],
    ["a Tor exit", "GB", "192.0.2.6", 403, undefined],
    ["a server error", "GB", "203.0.113.16", 403, undefined],
    ["no country", undefined, "192.0.2.1", 400, undefined],
  ];
  test.each(rows)("%s", async (_, country, from, status, order) => {
    const [got, body] = await checkOut(origin, country, from);
    expect([got, body.order]).toEqual([status, order]);
  });

  test("no server: everything is refused", async () => {
    const { origin } = await startExample(name, { SERVER: NOWHERE });
    expect((await checkOut(origin, "GB", "192.0.2.1"))[0]).toBe(403);
  });
}

function signUpForm(): void {
  const name = "sign-up-form";
  const submit = (origin: string, email: string) =>
    fetch(`${origin}/sign-up`, { method: "POST", body: new URLSearchParams({ email }) });
  let origin: string;
  let browser: Browser;
  beforeAll(async () => {
    [{ origin }, browser] = await Promise.all([startExample(name), launchBrowser()]);
  });
  afterAll(() => browser?.close());

  test("prints what its README shows", () => runReadme(name, origin));

  test("in a browser: the message appears beside the field, and the key never does", async () => {
    const faults: string[] = [];
    const page = await openPage(browser, { bypassCSP: true }, faults, (asked) => asked === origin);
    const received: Promise<string>[] = [];
    page.on("response", (response) => received.push(response.text().catch(() => "")));
    await page.goto(origin);
    const hint = page.getByRole("status");
    const isValid = () =>
      page.$eval("#email", (field) => (field as unknown as { validity: { valid: boolean } }).validity.valid);
    for (const [email, message, valid] of [
      ["jane@disposable.example", "Please use an address that you keep.", false],
      ["jane@mistyped.example", "Did you mean example.com?", true],
      ["jane@invalid.example", "Please check the address.", false],
    ] as const) {
      await page.getByLabel("Email").fill(email);
      expect(await hint.textContent()).toBe("");
      await page.getByLabel("Name").focus();
      await hint.filter({ hasText: message }).waitFor();
      expect(await isValid()).toBe(valid);
    }
    expect(await faultsOf(page, name)).toEqual([]);
    await page.getByLabel("Email").fill("jane@example.com");
    await page.getByRole("button").click();
    await page.getByText("Welcome!").waitFor();
    const texts = (await Promise.all(received)).join("\n");
    expect(texts).toContain("Did you mean example.com?");
    expect(texts).not.toContain(inkling.keys.test);
    expect(texts).not.toContain(inkling.origin);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("a form sent without the page is checked as well", async () => {
    expect((await submit(origin, "jane@disposable.example")).status).toBe(422);
    expect((await submit(origin, "jane@example.com")).status).toBe(201);
  });

  test("no server: every address is accepted", async () => {
    const { origin } = await startExample(name, { SERVER: NOWHERE });
    const [, answer] = await post(`${origin}/check-email`, { email: "jane@disposable.example" });
    expect(answer).toEqual({ ok: true });
    expect((await submit(origin, "jane@disposable.example")).status).toBe(201);
  });
}

function nightlyEnrich(): void {
  const name = "nightly-enrich";
  const script = join(FOLDER, name, "nightly-enrich.sh");
  const visits = temporaryFolder();
  const day = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  const output = join(visits, `enriched/visits-${day}.csv`);
  const dataDir = temporaryFolder();
  const [columns] = /^time,ip,.*$/m.exec(readmeOf(name))!;
  const enriched = `${columns}\n08:00,${ADDRESS},GB,${smallCity(1)},false,true,false\n08:01,8.8.8.8,,,false,false,false\n`;

  const nightly = async (environment: Readonly<Record<string, string>>, ...options: string[]) => {
    writeFileSync(join(visits, `visits-${day}.csv`), `time,ip\n08:00,${ADDRESS}\n08:01,8.8.8.8\n`);
    const PATH = `${join(ROOT, "node_modules/.bin")}:${process.env.PATH}`;
    const child = Bun.spawn([script, visits, ...options], {
      cwd: visits,
      // For 14 hours a day, yesterday is another day there than in UTC.
      env: { ...process.env, PATH, TZ: "Pacific/Kiritimati", ...environment },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([child.stdout, child.stderr].map((it) => new Response(it).text()));
    return { code: await child.exited, out, err };
  };
  const quiet = { code: 0, out: "", err: "" };

  const old = temporaryFolder();
  const partial = temporaryFolder();
  const places = { id: "places", sets: "geolocation", source: "seed", state: "loaded", entries: 1 } as const;
  const fetched_at = new Date(Date.now() - 174.5 * DAY_MS).toISOString();

  beforeAll(() => {
    mkdirSync(join(visits, "enriched"));
    smallRelease(dataDir, 1);
    smallRelease(partial, 1, ["is_abuser"]);
    smallRelease(old, 1, [], [{ ...places, licence: "x", fetched_at }]);
  });

  test.each([
    ["", dataDir],
    ["45d", dataDir],
    ["", old],
    ["180d", old],
  ])("adds its columns, and replaces the file: maximum age %p", async (MAX_AGE, INKLING_DATA_DIR) => {
    writeFileSync(output, "the output of an earlier run\n");
    expect(await nightly({ INKLING_DATA_DIR, MAX_AGE })).toEqual(quiet);
    expect(readFileSync(output, "utf8")).toBe(enriched);
    expect(JSON.parse(readFileSync(`${output}.json`, "utf8"))).toMatchObject({ rows: 2, ip: { found: 2 } });
    expect(readFileSync(`${output}.log`, "utf8")).toContain("read as csv");
    for (const report of ["json", "log"]) rmSync(`${output}.${report}`);
  });

  test.each([
    ["no visits of that day", { INKLING_DATA_DIR: dataDir, DAY: "2020-01-01" }, [], "does not exist"],
    ["no data", { INKLING_DATA_DIR: visits }, [], "inkling: "],
    ["a wrong option", { INKLING_DATA_DIR: dataDir }, ["--add", "everything"], "inkling: "],
    [
      "old data",
      { INKLING_DATA_DIR: old, MAX_AGE: "45d" },
      [],
      "the oldest data of geolocate, from places, is 174 days old",
    ],
    [
      "no data for a flag",
      { INKLING_DATA_DIR: partial, MAX_AGE: "45d" },
      [],
      "there is no data for is_abuser (--max-age 45d)",
    ],
  ])("%s: fails, prints why, and keeps the last output", async (_, environment, options, error) => {
    writeFileSync(output, "the output of an earlier run\n");
    const { code, out, err } = await nightly(environment, ...options);
    expect(code).toBeGreaterThan(0);
    expect(out).toBe("");
    expect(err).toContain(error);
    expect(readFileSync(output, "utf8")).toBe("the output of an earlier run\n");
    expect(readdirSync(join(visits, "enriched"))).toEqual([`visits-${day}.csv`]);
  });

  test("another day's compressed NDJSON gets its own output", async () => {
    const file = "visits-2026-11-20.ndjson.gz";
    writeFileSync(join(visits, file), gzipSync(`{"ip":"${ADDRESS}"}\n`));
    expect(await nightly({ INKLING_DATA_DIR: dataDir, DAY: "2026-11-20" })).toEqual(quiet);
    const text = gunzipSync(readFileSync(join(visits, "enriched", file))).toString();
    expect(JSON.parse(text)).toMatchObject({ ip: ADDRESS, country_iso_code: "GB", is_proxy: true });
    rmSync(join(visits, file));
    for (const report of ["", ".json", ".log"]) rmSync(join(visits, "enriched", `${file}${report}`));
  });

  test("cron and systemd start an existing script", () => {
    const service = readFileSync(join(FOLDER, name, "nightly-enrich.service"), "utf8");
    const page = readmeOf(name);
    const [, file, installed] = /^install -m 0755 (\S+) (\S+)$/m.exec(page)!;
    const [, started] = /^ExecStart=(\S+)/m.exec(service)!;
    const [, path, scheduled] = /^PATH=(\S+)\n15 3 \* \* \* cd \S+ && (?:\S+=\S+ )?(\S+)/m.exec(page)!;
    expect(existsSync(join(FOLDER, name, file!))).toBe(true);
    expect([started, `${path!.split(":")[0]}/${scheduled}`]).toEqual([installed, installed]);
  });
}
