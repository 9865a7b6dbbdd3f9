// Tests that the sample answers in README.md and docs/ match those of a server with a release from the whole mirror.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { fetch } from "../harness/checked-fetch.ts";
import { mirrorRelease } from "../harness/data-folders.ts";
import { projectFiles } from "../harness/project-files.ts";
import { type SmallServer, startServerOn } from "../harness/server.ts";

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

let started: SmallServer;
beforeAll(async () => {
  started = await startServerOn(await mirrorRelease());
}, 300_000);
afterAll(() => started?.server.stop());

test("the pages have samples of every lookup", () => {
  const paths = samples.map(({ path }) => path).join("\n");
  for (const lookup of ["geolocate", "reputation", "email", "assess"]) expect(paths).toContain(lookup);
});

test.each(samples)("$page: $path", async ({ path, body, answer }) => {
  const response = await fetch(`${started.origin}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${started.keys.live}`, "Content-Type": "application/json" },
    ...(body !== undefined && { body }),
  });
  const [shown = "", ...cut] = stable(answer).split(/…(?!")/);
  const given = stable(await response.text());
  expect(cut.length > 0 ? given.slice(0, shown.length) : given).toBe(shown);
});
