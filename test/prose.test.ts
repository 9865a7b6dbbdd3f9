// prose.test.ts: tests that the prose check of `npm run lint` finds sentences that a native engineer would rewrite, and
// accepts the rewritten ones.
//
// The sentences come from the project's own early pages.

import { expect, test } from "bun:test";
import { lintProse } from "../scripts/prose.mjs";

/** Each sentence before and after its revision. */
const SENTENCES: readonly (readonly [before: string, after: string])[] = [
  [
    "It fails, and all stays as it is, where a setting is wrong.",
    "If a setting is invalid, the reload fails and nothing changes.",
  ],
  [
    "Flags, variables and what systemd loads are those of the start.",
    "Flags, environment variables and credentials are read only at startup.",
  ],
  [
    "A server at a terminal takes SIGHUP for the end of the terminal, and stops.",
    "In a terminal, SIGHUP stops the server.",
  ],
  ["A reverse proxy that tries again bridges it.", "A reverse proxy that retries hides the restart."],
  [
    "A server that has lost the database goes on with the keys that it has.",
    "If a server loses the database, it keeps using the keys it has.",
  ],
  [
    "Where fewer than nine of ten report it ready, the share stays as it is, and the servers are named.",
    "If fewer than 90% of servers report ready, `promote` stops, lists the servers, and exits with code 1.",
  ],
  ["Without any, nothing is checked.", "Without reports, the check is skipped."],
  [
    "A share that is on another server cannot be used here.",
    "A server cannot spend another server's share, so it may return 429 early.",
  ],
  [
    "A new release is verified, as far as its files were not read since the start, then swapped in.",
    "The server verifies a new release, skipping files it has already checked, and then swaps it in.",
  ],
  [
    "The largest network around the address of which all this holds.",
    "The largest surrounding network with identical values.",
  ],
  [
    "The policy removes such false positives and weighs lists that disagree.",
    "The policy removes these false positives and decides between lists that disagree.",
  ],
  [
    "The server knows two in five Tor exits from a list of our own.",
    "The server detects about 40% of Tor exits from a built-in list.",
  ],
  ["Lookups per second, and at once, for each key.", "The per-key rate: lookups per second, and burst size."],
  [
    "There was no database yet, X is made: a server that uses another one learns nothing of this.",
    "Created a new database at X. A running server that uses a different database will not see this key.",
  ],
  [
    "The server has data of 21 minutes ago.",
    "The data was built 21 minutes ago; the oldest is 278 days old.",
  ],
  [
    "Puts this host's row in place as `joinedHost` has it, while no other host does the same.",
    "Writes this host's row. Only one host may join at a time.",
  ],
  [
    "This host's part of the rates while it is alone is one of so many.",
    "While cut off, this host may use 1/n of each rate.",
  ],
  ["The time of a clock that nobody sets.", "The time of a monotonic clock."],
  [
    "Undefined where the answer is the one that every key gets from this release.",
    "Undefined if the override does not change this answer.",
  ],
  ["The server mends the file and reads it anew.", "The server fixes the file and reads it again."],
];

const found = async (text: string, path = "README.md") =>
  (await lintProse(path, text)).map(({ line }) => line);

test("nine in ten of the sentences as they stood are found", async () => {
  const missed: string[] = [];
  for (const [before] of SENTENCES) if ((await found(before)).length === 0) missed.push(before);
  expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(SENTENCES.length / 10);
});

test("none of the sentences that replaced them is found", async () => {
  for (const [, after] of SENTENCES) expect([after, await found(after)]).toEqual([after, []]);
});

test("a sentence of 300 characters is found in a page, in the line that it begins in", async () => {
  const long = `${"The server reads the file and writes what it has read. ".repeat(2)}${"It has words ".repeat(24)}.`;
  expect(await found(`# Page\n\n${long}\n`)).toEqual([3]);
});

test("comments are checked, code and strings are not", async () => {
  const source = 'const a = "reads anew";\n// Reads it anew.\nf(a); // and goes on\n/**\n * It stays.\n */\n';
  expect(await found(source, "packages/engine/src/a.ts")).toEqual([2, 3, 5]);
});

test("code in a page is not checked; an exception has a reason", async () => {
  expect(await found("Run `inkling anew`.\n\n```\nanew\n```\n")).toEqual([]);
  expect(await found("<!-- prose-ok: a quotation -->\nHe reads it anew.\n")).toEqual([]);
  expect(await found("<!-- prose-ok: -->\nHe reads it anew.\n")).toEqual([2]);
});
