// Tests [[feed]] tables in inkling.toml: a message about a mistake names the line and the allowed values, and secrets
// are never shown.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SettingsError } from "../terminal/errors.ts";
import { loadSettings, shown } from "./settings.ts";

const temp = mkdtempSync(join(tmpdir(), "inkling-feed-rows-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

let folders = 0;
function load(toml: string, env: Record<string, string> = {}, credentials: Record<string, string> = {}) {
  const cwd = join(temp, String(folders++));
  mkdirSync(join(cwd, "credentials"), { recursive: true });
  writeFileSync(join(cwd, "inkling.toml"), toml);
  for (const [name, text] of Object.entries(credentials)) writeFileSync(join(cwd, "credentials", name), text);
  return { cwd, ...loadSettings({ flags: {}, env, cwd }) };
}
function problemsOf(toml: string): string[] {
  try {
    load(toml);
  } catch (error) {
    if (error instanceof SettingsError)
      return error.problems.map((problem) => problem.replaceAll(`${temp}/${folders - 1}/`, ""));
    throw error;
  }
  return [];
}

const GOOD = `port = 9000 # a comment
[[feed]]
id = "office"
format = "networks"
claims = "vpn"
file = "lists/office.txt"

[[feed]]
id = "acme"
format = "json"
claims = "attacker"
url = "https://lists.example/bad.json?key=in-the-query"
path = "$.items[*].ip"
header = "Authorization"
weight = 1
copies = ["ipsum-3"]
`;

test("rows are read, their files' paths start at the folder of inkling.toml, and a query is not shown", () => {
  const { settings, cwd } = load(GOOD);
  expect(settings.feed.map(({ id, file }) => [id, file])).toEqual([
    ["office", join(cwd, "lists/office.txt")],
    ["acme", undefined],
  ]);
  expect(JSON.stringify(shown("feed", settings))).not.toContain("in-the-query");
});

describe("the message about a wrong row has the line and what is allowed", () => {
  const change = (from: string, to: string) => GOOD.replace(from, to);
  test.each<[string, string, (string | RegExp)[]]>([
    [
      "a claim that does not exist",
      change('claims = "vpn"', 'claims = "bad"'),
      [/^line 5 of inkling\.toml: feed "office": claims must be one of attacker, .*: it is "bad"$/],
    ],
    [
      "a claim of another format",
      change('claims = "vpn"', 'claims = "place"'),
      [
        /^line 5 of inkling\.toml: feed "office": claims of the format networks must be one of .*: it is "place"$/,
      ],
    ],
    [
      "a field that does not exist",
      change('file = "lists', 'weigth = 2\nfile = "lists'),
      [
        /^line 6 of inkling\.toml: feed "office": weigth is not allowed; the allowed fields are id, format, claims, file, url, /,
      ],
    ],
    [
      "a weight that is none, and a missing id: both rows",
      change("weight = 1", "weight = 9").replace('id = "office"\n', ""),
      [
        /^line 2 of inkling\.toml: feed 1: id must be lower-case letters/,
        'line 14 of inkling.toml: feed "acme": weight must be a whole number from 1 to 8: it is 9',
      ],
    ],
    [
      "a file and a URL",
      change('path = "$', 'file = "x"\npath = "$'),
      ['line 13 of inkling.toml: feed "acme": file and url cannot be combined: it is "x"'],
    ],
    [
      "neither",
      change('file = "lists/office.txt"', ""),
      ['line 2 of inkling.toml: feed "office": file or url is required'],
    ],
    [
      "a path that is none",
      change("$.items[*].ip", "items[0]"),
      [
        /^line 13 of inkling\.toml: feed "acme": path must start with \$, then have names .*: it is "items\[0\]"$/,
      ],
    ],
    [
      "a secret over plain HTTP, and no value repeated",
      change("https://", "http://"),
      ['line 12 of inkling.toml: feed "acme": url must start with https://, because the header is a secret'],
    ],
    [
      "a password in a URL",
      change("https://lists", "https://me:hush@lists"),
      [/^line 12 of inkling\.toml: feed "acme": url must not have a user or password/],
    ],
    [
      "the same id twice",
      change('id = "acme"', 'id = "office"'),
      ['line 9 of inkling.toml: feed "office": id is used twice: it is "office"'],
    ],
    ["no table", 'feed = "x"\n', ["line 1 of inkling.toml: feeds must be [[feed]] tables"]],
  ])("%s", (_name, toml, want) => {
    const found = problemsOf(toml);
    expect(found).toEqual(
      want.map((text) => (typeof text === "string" ? text : expect.stringMatching(text))),
    );
    expect(found.join()).not.toMatch(/hush|in-the-query/);
  });
});

describe("secrets, by name", () => {
  const [table, variable, credential] = ["of-the-file", "of-the-variable", "of-the-credential"];
  const toml = `[feed_secret]\nacme = "${table}"\nother = "x"\n`;
  test.each([
    ["in the file", {}, {}, table, "file"],
    ["a credential before it", {}, { feed_secret_acme: `${credential}\n` }, credential, "credential"],
    [
      "a variable before both",
      { INKLING_FEED_SECRET_ACME: variable },
      { feed_secret_acme: credential },
      variable,
      "environment",
    ],
  ])("%s", (_name, env, credentials, want, origin) => {
    const { settings, origins, warnings } = load(toml, env, credentials as Record<string, string>);
    expect(settings.feedSecret).toEqual({ acme: want, other: "x" });
    expect([origins.feedSecret as string, warnings]).toEqual([origin, []]);
    expect(shown("feedSecret", settings)).toEqual(["acme=***", "other=***"]);
  });
  test("of a service's manager", () => {
    const folder = join(temp, "systemd");
    mkdirSync(folder);
    writeFileSync(join(folder, "inkling_feed_secret_acme"), credential);
    expect(load("", { CREDENTIALS_DIRECTORY: folder }).settings.feedSecret).toEqual({ acme: credential });
  });
  test("a value that is not a header is reported, and not repeated", () => {
    expect(problemsOf('[feed_secret]\nacme = "two\\nlines"\n')).toEqual([
      "feed_secret in inkling.toml: acme must be one line of ASCII text",
    ]);
    expect(problemsOf("feed_secret = 3\n")).toEqual([
      "feed_secret in inkling.toml must be a table of names with their values",
    ]);
  });
});
