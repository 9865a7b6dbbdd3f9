// Tests the sample output in docs/troubleshooting.md: the commands and `/readyz` print these lines. Only times, the
// release, the port and the folder differ. A line with `…` stands for lines that the page omits.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FeedReport } from "@inkling/engine";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { ROOT } from "../../harness/project-files.ts";
import { smallRelease } from "../../harness/release.ts";
import { type SmallServer, startServerOn } from "../../harness/server.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const PAGE = readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8");
const [, SECTION = ""] = /^## What the commands print\n([\s\S]*?)^## /m.exec(PAGE) ?? [];
/** Each command, with the code blocks that follow it. */
const SAMPLES = SECTION.split(/^(?=`(?:inkling|curl) )/m)
  .slice(1)
  .map((part) => {
    const [, command = ""] = /^`([^`]+)`/.exec(part)!;
    return [
      command,
      [...part.matchAll(/^```.*\n([\s\S]*?)^```$/gm)].map(([, code]) => code).join(""),
    ] as const;
  });
const WHY =
  "differs too much from the last good copy: 112 added and 5604 removed of 10812, but at most 40% are expected";

function loaded(id: string, sets: string, hours: number, entries: number, licence: string): FeedReport {
  const published_at = new Date(Date.now() - hours * 3_600_000).toISOString();
  return { id, sets, source: "fetched", state: "loaded", entries, licence, published_at };
}

/** A list is held, and no list of abusers can be reached. */
const FEEDS: FeedReport[] = [
  loaded("dbip-city-lite", "geolocation", 700, 4_123_456, "CC-BY-4.0"),
  {
    ...loaded("x4bnet-vpn-v4", "is_proxy", 31, 10_812, "MIT"),
    source: "last-good",
    error: `publisher: ${WHY}`,
    held: { sha256: "0123456789abcdef".repeat(4), why: WHY },
  },
  {
    id: "ipsum-3",
    sets: "is_abuser",
    source: "none",
    state: "missing",
    entries: 0,
    licence: "Unlicense",
    error:
      "publisher: https://raw.githubusercontent.com/stamparm/ipsum/master/levels/3.txt could not be reached: no response",
  },
];

const dataDir = temporaryFolder();
let server: SmallServer;
let empty: SmallServer;
beforeAll(async () => {
  smallRelease(dataDir, 1, ["is_abuser"], FEEDS);
  server = await startServerOn(dataDir);
  empty = await startServerOn(temporaryFolder());
});
afterAll(() => Promise.all([server.server.stop(), empty.server.stop()]));

/** Returns the lines of a text, without what differs from run to run. */
const linesOf = (text: string) =>
  text
    .replaceAll(dataDir, "/var/lib/inkling")
    .replace(`port: ${server.server.port} `, "port: 8080 ")
    .replaceAll(/\d{8}T\d{9}Z-[0-9a-f]{12}/g, "RELEASE")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b\d+ (?:second|minute|hour|day|month)s?\b/g, "AGE")
    .split("\n")
    .map((line) => line.trim().replaceAll(/ +/g, " "))
    .filter((line) => line !== "");

async function printed(command: string): Promise<string> {
  if (command.startsWith("curl")) {
    const bodies = [server, empty].map(async ({ origin }) => (await fetch(`${origin}/readyz`)).text());
    return (await Promise.all(bodies)).join("\n");
  }
  const { port, adminPort } = server.server;
  const ports = ["--port", String(port), "--admin-port", String(adminPort)];
  const args = [...command.split(" ").slice(1), "--data-dir", dataDir];
  const { out } = await runHere(command === "inkling doctor" ? [...args, ...ports] : args, { cwd: dataDir });
  return out;
}

test("the page has a sample of each command", () => {
  expect(SAMPLES.map(([command]) => command)).toEqual([
    "inkling doctor",
    "inkling data status",
    "inkling feeds list",
    "curl -s http://127.0.0.1:8080/readyz",
  ]);
});

test.each(SAMPLES)("%s prints the lines of the sample, in this order", async (command, sample) => {
  const actual = linesOf(await printed(command));
  let from = 0;
  for (const line of linesOf(sample).filter((line) => line !== "…")) {
    const found = actual.indexOf(line, from);
    expect([line, found >= from ? line : actual.slice(from)]).toEqual([line, line]);
    from = found + 1;
  }
});
