// Tests releases that change while requests come in. No request fails, no answer mixes two releases, and a corrupt
// release changes nothing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NO_FLAGS } from "@inkling/contract";
import { type RunningServer, startServer } from "../../../packages/server/src/run/server.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { smallCity, smallDomain, smallFlag, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";

const TOKEN = freshToken();
const dataDir = temporaryFolder();
const logged: string[] = [];
let server: RunningServer;
const numberOf = new Map<string, number>();

const start = () =>
  startServer({
    ...testServerOptions(dataDir),
    logLevel: "info",
    apiKey: TOKEN,
    writeLog: (lines) => logged.push(lines),
  });

function release(n: number): { id: string; files: string[] } {
  const made = smallRelease(dataDir, n);
  numberOf.set(made.id, n);
  return made;
}

beforeAll(async () => {
  release(0);
  server = await start();
});
afterAll(() => server.stop());

const send = (path: string) =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
const version = async () => (await send("/healthz")).headers.get("inkling-data-version")!;

interface Status {
  readonly refused_release: { readonly name: string; readonly reason: string } | null;
}
const refused = async () => ((await (await send("/v1/status")).json()) as Status).refused_release;
/** Returns the logged reason for the release that was refused last. */
const loggedReason = (): string =>
  logged
    .join("")
    .split("\n")
    .filter((line) => line.includes('"event":"release-refused"'))
    .map((line) => JSON.parse(line).reason)
    .at(-1);
/** The fields that are checked here, of any answer. */
interface Answer {
  readonly city?: { readonly name: string };
  readonly disposable?: boolean;
}
const answerOf = async (response: Response) => (await response.json()) as Answer;

/** Makes all three lookups. Their answers must come from the release in their header. */
async function checkAnswers(): Promise<string> {
  const [geo, reputation] = await Promise.all([
    send("/v1/ip-intel/geolocate/81.2.69.142"),
    send("/v1/ip-intel/reputation/81.2.69.142"),
  ]);
  const geoId = geo.headers.get("inkling-data-version")!;
  expect(geo.status).toBe(200);
  expect(geo.headers.get("etag")).toBe(`"${geoId}"`);
  expect((await answerOf(geo)).city?.name).toBe(smallCity(numberOf.get(geoId)!));
  expect(reputation.status).toBe(200);
  const flag = smallFlag(numberOf.get(reputation.headers.get("inkling-data-version")!)!);
  expect(await reputation.json()).toEqual({ ...NO_FLAGS, [flag]: true });
  const n = numberOf.get(geoId)!;
  const email = await send(`/v1/user-intel/email/a@${smallDomain(n)}`);
  expect(email.status).toBe(200);
  const isSame = email.headers.get("inkling-data-version") === geoId;
  if (isSame) expect((await answerOf(email)).disposable).toBe(true);
  return geoId;
}

test("twelve releases under load: no failed request, no mixed answer", async () => {
  let isDone = false;
  let rounds = 0;
  const seen = new Set<string>();
  const load = Array.from({ length: 4 }, async () => {
    while (!isDone) {
      seen.add(await checkAnswers());
      rounds++;
    }
  });
  let last = "";
  for (let n = 1; n <= 12; n++) {
    last = release(n).id;
    const wanted = last;
    await until(async () => (await version()) === wanted);
    const enough = rounds + 5;
    await until(() => rounds >= enough);
  }
  isDone = true;
  await Promise.all(load);
  expect(await checkAnswers()).toBe(last);
  expect(seen.size).toBeGreaterThan(6);
  expect(rounds).toBeGreaterThan(50);
});

test.each([
  ["cut short", (path: string) => truncateSync(path, 200)],
  ["empty", (path: string) => truncateSync(path, 0)],
  ["gone", (path: string) => rmSync(path)],
] as const)(
  "a new release with a segment %s is refused, and serves once it is repaired",
  async (damaged, damage) => {
    const before = await version();
    // The release is built in another folder, and its damaged copy is moved in, because files in use are
    // never written to.
    const elsewhere = temporaryFolder();
    const n = numberOf.size + 20;
    const { id, files } = smallRelease(elsewhere, n);
    numberOf.set(id, n);
    const name = readFileSync(join(elsewhere, "current"), "utf8").trim();
    const good = files.map((path) => readFileSync(path));
    damage(files[0]!);
    const bring = (path: string) => {
      const bytes = readFileSync(join(elsewhere, path));
      writeFileSync(join(dataDir, `${path}.new`), bytes);
      renameSync(join(dataDir, `${path}.new`), join(dataDir, path));
    };
    for (const file of files) {
      const path = file.slice(elsewhere.length + 1);
      try {
        bring(path);
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe("ENOENT"); // from the missing file
      }
    }
    bring(`releases/${name}.json`);
    bring("current");
    await until(async () => (await refused())?.name === name);
    expect(await version()).toBe(before);
    await checkAnswers();
    expect((await refused())?.reason).not.toContain(name); // any key may read it
    const reason = loggedReason();
    expect(reason).toContain(name);
    expect(reason).not.toContain(dataDir);

    files.forEach((file, i) => {
      writeFileSync(file, good[i]!);
    });
    for (const file of files) bring(file.slice(elsewhere.length + 1));
    await until(async () => (await version()) === id);
    await checkAnswers();
    expect(await refused()).toBeNull();
    drilled(
      import.meta.path,
      `a new release with a segment ${damaged}`,
      "every lookup, by the release of before",
      "the release of before; the new one serves once it is repaired",
    );
  },
);

test("a server that starts on a release that is cut short serves the previous one", async () => {
  await server.stop();
  const before = release(90).id;
  const { files } = release(91);
  truncateSync(files[0]!, 200);
  server = await start();
  await until(async () => (await version()) === before);
  await checkAnswers();
  expect((await refused())?.reason).toContain("log");
  expect(loggedReason()).toMatch(/has 200 bytes/);
});
