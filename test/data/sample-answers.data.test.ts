// Tests that the sample answers in README.md and docs/ match those of a server with a release from the whole mirror.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { fetch } from "../harness/checked-fetch.ts";
import { mirrorRelease } from "../harness/data-folders.ts";
import { projectFiles } from "../harness/project-files.ts";
import { builtRelease, temporaryFolder } from "../harness/release.ts";
import { type SmallServer, startServerOn } from "../harness/server.ts";

const ROOT = resolve(import.meta.dir, "../..");

interface Sample {
  readonly page: string;
  readonly path: string;
  /** The body of a POST request. */
  readonly body: string | undefined;
  readonly answer: string;
}

/** `curl` with a live key, and its output. An answer may be cut with "…". Other tests cover DNS and sandbox keys. */
const SAMPLE =
  /^curl -H "Authorization: Bearer \$KEY"((?:.|\\\n)*?) "?http:\/\/127\.0\.0\.1:8080(\/v1\/[^\s"]+)"?\n```\n\n```json\n(\{.*)$/gm;
const NEEDS_DNS = "checks=mx";

const samples: Sample[] = projectFiles()
  .filter(({ path }) => path === "README.md" || /^docs\/[^/]+\.md$/.test(path))
  .flatMap(({ path: page, text }) =>
    [...text.matchAll(SAMPLE)].map(([, options = "", path = "", answer = ""]) => ({
      page,
      path,
      body: /-d '(.*)'/.exec(options)?.[1],
      answer,
    })),
  )
  .filter(({ path }) => !path.includes(NEEDS_DNS));

/** Returns the answer without parts that are new in each release or each answer. */
const stable = (answer: string) =>
  answer.replace(/"asm_\w+"/g, '"asm_…"').replace(/"data_version":"\w+"/g, '"data_version":"…"');

let dataDir: string;
let started: SmallServer;
beforeAll(async () => {
  dataDir = await mirrorRelease();
  started = await startServerOn(dataDir);
}, 300_000);
afterAll(() => started?.server.stop());

test("the pages have samples of every lookup", () => {
  const paths = samples.map(({ path }) => path).join("\n");
  for (const lookup of ["geolocate", "reputation", "email", "assess"]) expect(paths).toContain(lookup);
});

const send = ({ origin, keys }: SmallServer, { path, body }: Sample) =>
  fetch(`${origin}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${keys.live}`, "Content-Type": "application/json" },
    ...(body !== undefined && { body }),
  });

test.each(samples)("$page: $path", async (sample) => {
  const response = await send(started, sample);
  const [shown = "", ...cut] = stable(sample.answer).split(/…(?!")/);
  const given = stable(await response.text());
  expect(cut.length > 0 ? given.slice(0, shown.length) : given).toBe(shown);
});

test("the README shows what the command prints", () => {
  const { text } = projectFiles().find(({ path }) => path === "README.md")!;
  const [, values = "", shown = ""] = /^\.\/inkling (.*)\n```\n\n```\n([\s\S]*?)```$/m.exec(text) ?? [];
  const { stdout } = Bun.spawnSync([join(ROOT, "inkling"), ...values.split(" ")], {
    env: { ...process.env, INKLING_DATA_DIR: dataDir },
  });
  expect(`${stdout}`).toStartWith(shown);
  expect(shown).toContain("disposable");
});

test("the README's lookups work offline, with seeds only, and reputation returns 503 rather than a guess", async () => {
  const offline = await startServerOn(await builtRelease("seeds-release", [], temporaryFolder));
  try {
    const readme = samples.filter(({ page }) => page === "README.md");
    const [reputation, others] = [true, false].map((is) =>
      readme.filter(({ path }) => path.includes("reputation") === is),
    ) as [Sample[], Sample[]];
    expect([reputation.length, others.length]).toEqual([1, 3]);
    for (const sample of reputation) expect((await send(offline, sample)).status).toBe(503);
    for (const sample of others) {
      const response = await send(offline, sample);
      expect(response.status).toBe(200);
      const [given, shown] = [JSON.parse(stable(await response.text())), JSON.parse(stable(sample.answer))];
      // The mirror may place an address better than the seeds do.
      if ("country" in shown) expect(given.country).toEqual(shown.country);
      else expect(given).toEqual(shown);
    }
  } finally {
    await offline.server.stop();
  }
}, 300_000);
