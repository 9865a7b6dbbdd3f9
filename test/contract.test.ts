// Checks the public HTTP contract byte for byte: sends about 5,000 requests to real servers, and compares the responses
// with the recording contract/recorded.ndjson.br. Data, clock, keys and requests are fixed. contract/exchange.ts lists
// what is not compared.
//
// For an intended change, `npx bun test/contract/record.ts` records again, and CHANGELOG.md gets a line.

import { describe, expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { difference } from "./contract/difference.ts";
import { type Exchange, RECORDED, replay } from "./contract/replay.ts";
import { executableFolder } from "./harness/published-packages.ts";
import { temporaryFolder } from "./harness/release.ts";
import { share } from "./harness/share.ts";

/** Maximum number of differences to print. A change that affects every response would print thousands. */
const MAX_DIFFERENCES = 20;

const recorded: readonly Exchange[] = brotliDecompressSync(readFileSync(RECORDED))
  .toString()
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line));

/** @throws Error listing the differences */
async function compare(exchanges: readonly Exchange[], executable?: string): Promise<void> {
  /** Requests by difference, because one change often affects many responses in the same way. */
  const differences = new Map<string, string[]>();
  let sent = 0;
  await replay(
    exchanges,
    (request, response, index) => {
      sent++;
      const found = difference(exchanges[index]!.response, response);
      if (found === undefined) return;
      const key = request.key === undefined ? "no key" : `key ${request.key}`;
      const name = `line ${index + 1}: ${request.method} ${request.target} (${request.server}, ${key})`;
      differences.set(found, [...(differences.get(found) ?? []), name]);
    },
    executable,
  );
  expect(sent).toBe(exchanges.length);
  const rows = [...differences].map(([found, [first, ...others]]) =>
    others.length === 0 ? `${first}: ${found}` : `${first}: ${found}\n  and ${others.length} more like this`,
  );
  const more = rows.length - MAX_DIFFERENCES;
  if (more > 0) rows.splice(MAX_DIFFERENCES, more, `and ${more} other differences`);
  if (rows.length > 0)
    rows.push("If that is meant: npx bun test/contract/record.ts, and a line in CHANGELOG.md");
  if (rows.length > 0) throw new Error(["responses differ from the recording:", ...rows].join("\n"));
}

test("every response is the recorded one", () => compare(recorded));

test("so is every response of the executable, away from the clone", async () => {
  const executable = join(temporaryFolder(), "inkling");
  cpSync(join(await executableFolder(), "inkling"), executable);
  await compare(share(recorded, recorded.slice(0, 1_500)), executable);
});

describe("the recording", () => {
  test("has enough requests", () => {
    expect(recorded.length).toBeGreaterThan(4_500);
    expect(recorded.filter(({ response }) => response.status === "200 OK").length).toBeGreaterThan(2_500);
    const bodies = new Set(recorded.map(({ response }) => response.body));
    expect(bodies.size).toBeGreaterThan(900);
  });

  test("has every public code, not from the sandbox alone where it can be had otherwise", () => {
    const codesOf = (exchanges: readonly Exchange[]) =>
      new Set(
        exchanges.flatMap(({ response }) =>
          [...response.body.matchAll(/"code":"([A-Z_]{3,})"/g)].map(([, code]) => code!),
        ),
      );
    const page = readFileSync(resolve(import.meta.dir, "../docs/errors.md"), "utf8");
    const publicCodes = [...page.matchAll(/^### ([A-Z_]+)$/gm)].map(([, code]) => code!);
    expect(publicCodes.length).toBeGreaterThan(20);
    const missing = (exchanges: readonly Exchange[]) =>
      publicCodes.filter((code) => !codesOf(exchanges).has(code));
    const own = recorded.filter(
      ({ key, target }) => key !== "sandbox" && !target.startsWith("/openapi.json"),
    );
    expect(missing(recorded)).toEqual([]);
    expect(missing(own)).toEqual([
      "IDEMPOTENCY_KEY_INVALID", // only a server that stores decisions reads the key
      "TOO_MANY_STREAMS",
      "INTERNAL",
      "DECISIONS_UNREACHABLE",
      "KEYS_NOT_LOADED",
    ]);
  });
});
