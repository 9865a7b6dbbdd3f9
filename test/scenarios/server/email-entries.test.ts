// Tests that one email address has one answer, however it is requested: single lookups, batches, the command line,
// enrich, and @inkling/local.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { createLocal, type LocalInkling } from "../../../packages/local/src/index.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

const dataDir = temporaryFolder();
smallRelease(dataDir, 1);
const temp = temporaryFolder();
let small: SmallServer;
let local: LocalInkling<"throw">;
beforeAll(async () => {
  small = await startSmallServer();
  local = await createLocal({ data: dataDir, allowMissing: true });
});
afterAll(async () => {
  await local.close();
  await small.server.stop();
});

const INVISIBLE = {
  "zero-width space": "\u200b",
  "zero-width non-joiner": "\u200c",
  "zero-width joiner": "\u200d",
  "word joiner": "\u2060",
  "soft hyphen": "\u00ad",
  "combining grapheme joiner": "\u034f",
  "Mongolian vowel separator": "\u180e",
  "variation selector 16": "\ufe0f",
  "variation selector 17": "\u{e0100}",
  "byte order mark": "\ufeff",
  "left-to-right mark": "\u200e",
  "right-to-left override": "\u202e",
  "first strong isolate": "\u2068",
  "Arabic letter mark": "\u061c",
  "tag space": "\u{e0020}",
  "Hangul filler": "\u3164",
  NUL: "\0",
  DEL: "\x7f",
  "next line": "\x85",
  "no-break space": "\u00a0",
  "ogham space mark": "\u1680",
  "em space": "\u2003",
  "line separator": "\u2028",
  "paragraph separator": "\u2029",
  "narrow no-break space": "\u202f",
  "mathematical space": "\u205f",
  "ideographic space": "\u3000",
  space: " ",
  tab: "\t",
  "line feed": "\n",
  "carriage return": "\r",
  "vertical tab": "\v",
  "form feed": "\f",
} as const;

const PLACES: Readonly<Record<string, (c: string) => string>> = {
  "before the local part": (c) => `${c}jane@disposable-1.com`,
  "in the local part": (c) => `ja${c}ne@disposable-1.com`,
  "after the local part": (c) => `jane${c}@disposable-1.com`,
  "before the domain": (c) => `jane@${c}disposable-1.com`,
  "in the domain": (c) => `jane@dispos${c}able-1.com`,
  "before the suffix": (c) => `jane@disposable-1.${c}com`,
  "after the domain": (c) => `jane@disposable-1.com${c}`,
};

const rows: [what: string, text: string, valid: boolean][] = [
  ["an address", "jane@disposable-1.com", true],
  ["an address of another domain", "jane@gmail.com", true],
  ["a quoted local part", '"x y"@gmail.com', true],
  ["an at sign in quotes", '"a@b"@gmail.com', true],
  ["an empty quoted local part", '""@disposable-1.com', true],
  ["joiners that a script needs", "jane@نامه\u200cای.com", true],
  ["a percent sign", "a%00@gmail.com", true],
  ["a slash and a question mark", "a/b?c#d@gmail.com", true],
  ["no local part", "@gmail.com", false],
  ["no domain", "jane@", false],
  ["an at sign", "@", false],
  ["words", "jane doe @ gmail.com", false],
  ...Object.entries(INVISIBLE).flatMap(([name, c]) =>
    Object.entries(PLACES).map(([where, textOf]): [string, string, boolean] => [
      `${name} ${where}`,
      textOf(c),
      false,
    ]),
  ),
];
const values = rows.map(([, text]) => text);

/** ASCII white space around a line or a cell is layout, and not part of the value. */
const trimmed = (text: string) => text.replaceAll(/^[\t-\r ]+|[\t-\r ]+$/g, "");
const isTrimmed = (text: string) => trimmed(text) === text;
const isLine = (text: string) => !/[\r\n]/.test(text);

const asText = async (path: string, init: RequestInit = {}) => {
  const headers = { Authorization: `Bearer ${small.keys.live}`, ...init.headers };
  return (await fetch(`${small.origin}${path}`, { ...init, headers })).text();
};
const inkling = (...args: string[]) => runHere(args, { env: { INKLING_DATA_DIR: dataDir }, cwd: temp });
const BATCH = "/v1/user-intel/email";
/** The answer for each value, as a server's single lookup writes it. */
let singles: Promise<readonly string[]> | undefined;
const answersOfServer = () => {
  singles ??= Promise.all(values.map((text) => asText(`/v1/user-intel/email/${encodeURIComponent(text)}`)));
  return singles;
};

test("single lookups", async () => {
  const answers = await answersOfServer();
  const valid = answers.map((answer, i) => [rows[i]![0], JSON.parse(answer).valid]);
  expect(valid).toEqual(rows.map(([what, , isValid]) => [what, isValid]));
});

test("a batch of JSON, and one of NDJSON", async () => {
  const answers = (await answersOfServer()).map((text) => JSON.parse(text));
  const ofType = (type: string, body: string) =>
    asText(BATCH, { method: "POST", body, headers: { "Content-Type": type } });
  const json = await ofType("application/json", JSON.stringify({ values }));
  expect(JSON.parse(json).answers).toEqual(answers);
  const lines = await ofType("application/x-ndjson", values.map((text) => JSON.stringify(text)).join("\n"));
  expect(
    lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(answers);
});

test("@inkling/local, and its error after close()", async () => {
  const closed = await createLocal({ data: dataDir, allowMissing: true });
  await closed.close();
  const error = { name: "InklingError", code: "CLOSED" };
  await expect(closed.email("a@gmail.com")).rejects.toMatchObject(error);
  expect(() => closed.emailBytes("a@gmail.com")).toThrow(expect.objectContaining(error));
  expect(() => closed.release).toThrow(expect.objectContaining(error));
  const answers = await answersOfServer();
  for (const [i, text] of values.entries())
    expect(Buffer.from(local.emailBytes(text)).toString()).toBe(answers[i]!);
  const many = local.lookupMany("email", values);
  expect(many.map((bytes) => Buffer.from(bytes as Uint8Array).toString())).toEqual([...answers]);
});

test("the command line: values of their own, and lines of standard input", async () => {
  const answers = await answersOfServer();
  const { out } = await inkling("lookup", ...values, "--json");
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(answers.map((answer, i) => ({ value: values[i], email: JSON.parse(answer) })));
  for (const i of [0, 2, 3, 6, 8, 13]) {
    expect((await inkling("lookup", "email", values[i]!, "--json")).out).toBe(`${answers[i]}\n`);
    const { out, code } = await inkling(values[i]!, "--json", "--evidence");
    const { evidence, ...email } = JSON.parse(out).email;
    expect([code, email]).toEqual([0, JSON.parse(answers[i]!)]);
    expect(Array.isArray(evidence)).toBe(true);
  }
  const lines = values.filter(isLine);
  const child = Bun.spawn(
    ["node", join(import.meta.dir, "../../../packages/cli/bin/inkling.mjs"), "-", "--json"],
    {
      cwd: temp,
      env: { ...process.env, INKLING_DATA_DIR: dataDir },
      stdin: Buffer.from(lines.map((text) => `${text}\n`).join("")),
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  const printed = (await child.stdout.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(printed).toEqual(
    lines.map((text) => {
      const shown = trimmed(text);
      return { value: shown, email: JSON.parse(answers[values.indexOf(shown)]!) };
    }),
  );
});

test("enrich: cells, quoted and not, and fields of NDJSON", async () => {
  const answers = await answersOfServer();
  const wanted = (text: string) => JSON.parse(answers[values.indexOf(trimmed(text))]!);
  const csv = values.map((text) => `"${text.replaceAll('"', '""')}"\n`);
  writeFileSync(join(temp, "mails.csv"), `mail\n${csv.join("")}`);
  const column = ["--email-column", "mail", "--add", "valid,disposable"];
  expect(
    (await inkling("enrich", join(temp, "mails.csv"), ...column, "--out", join(temp, "out.csv"))).code,
  ).toBe(0);
  const wantedRows = csv.map((row, i) => {
    const { valid, disposable } = wanted(values[i]!);
    return `${row.slice(0, -1)},${valid},${disposable}\n`;
  });
  expect(readFileSync(join(temp, "out.csv"), "utf8")).toBe(`mail,valid,disposable\n${wantedRows.join("")}`);

  const bare = values.filter((text) => isLine(text) && isTrimmed(text) && !text.startsWith('"'));
  writeFileSync(join(temp, "bare.tsv"), `n\tmail\n${bare.map((text, i) => `${i}\t${text}\n`).join("")}`);
  expect(
    (await inkling("enrich", join(temp, "bare.tsv"), ...column, "--out", join(temp, "out.tsv"))).code,
  ).toBe(0);
  const lines = readFileSync(join(temp, "out.tsv"), "utf8").trim().split("\n").slice(1);
  const withoutTabs = bare
    .map((text, i) => [text, lines[i]] as const)
    .filter(([text]) => !text.includes("\t"));
  expect(withoutTabs.map(([, line]) => line!.split("\t").slice(2).join())).toEqual(
    withoutTabs.map(([text]) => `${wanted(text).valid},${wanted(text).disposable}`),
  );

  writeFileSync(join(temp, "mails.ndjson"), values.map((mail) => `${JSON.stringify({ mail })}\n`).join(""));
  expect(
    (await inkling("enrich", join(temp, "mails.ndjson"), ...column, "--out", join(temp, "out.ndjson"))).code,
  ).toBe(0);
  const fields = readFileSync(join(temp, "out.ndjson"), "utf8").trim().split("\n");
  expect(fields.map((line) => JSON.parse(line))).toEqual(
    values.map((mail) => {
      const { valid, disposable } = wanted(mail);
      return { mail, valid, disposable };
    }),
  );
});
