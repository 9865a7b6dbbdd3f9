// Tests the list of revocations: what a crash, an editor, a second process or a full disk may do to it.

import { expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness/release.ts";
import { type Revocation, RevokedFile } from "./revoked-file.ts";

const AT = Date.parse("2026-11-29T08:00:00Z");
const revocation = (id: string, author = "ada"): Revocation => ({ id, at: AT, author });
const [A, B, C] = ["key_aaaaaaaaaaaaaaaa", "key_bbbbbbbbbbbbbbbb", "key_cccccccccccccccc"].map((id) =>
  revocation(id),
) as [Revocation, Revocation, Revocation];

function setUp(text?: string) {
  const path = join(temporaryFolder(), "revoked");
  if (text !== undefined) writeFileSync(path, text);
  return { path, text: () => readFileSync(path, "utf8"), file: new RevokedFile(path) };
}

const LINE = '{"id":"key_aaaaaaaaaaaaaaaa","at":"2026-11-29T08:00:00.000Z","author":"ada"}\n';
const nothing = { added: [], invalid: [] };

test("an entry is one line, written once, for this user and group", () => {
  const { file, path, text } = setUp();
  expect([file.read(), file.isEmpty]).toEqual([nothing, true]);
  file.add([A]);
  file.add([A, A]);
  expect(text()).toBe(LINE);
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect([file.timeOf(A.id), file.timeOf(B.id), file.isEmpty]).toEqual([AT, undefined, false]);
  expect(file.read()).toEqual(nothing); // the file's own entries are not new
});

test("what another process appends is new once, also to a file that did not exist", () => {
  const { file, path } = setUp();
  file.read();
  const other = new RevokedFile(path);
  other.add([A]);
  expect(file.read()).toEqual({ added: [A], invalid: [] });
  file.add([B]);
  expect(other.read().added).toEqual([B]);
  expect([file.read(), other.read()]).toEqual([nothing, nothing]);
});

test("an admin token with the name of a revoked one is another token", () => {
  const { file, path } = setUp();
  const token = { ...revocation("bea"), createdAt: AT - 1 };
  file.add([token]);
  const again = new RevokedFile(path);
  expect(again.read().added).toEqual([token]);
  for (const one of [file, again])
    expect([one.hasToken("bea", AT - 1), one.hasToken("bea", AT), one.timeOf("bea")]).toEqual([
      true,
      false,
      undefined,
    ]);
});

test("a crash that cuts off the last line, at any byte", () => {
  const { file, text } = setUp();
  file.add([A, revocation(B.id, 'a } "brace"')]);
  const whole = text();
  const second = whole.indexOf("\n") + 1;
  for (let end = second; end < whole.length; end++)
    for (const rest of ["", "\0\0\0"]) {
      const cut = setUp(whole.slice(0, end) + rest);
      const isWhole = end === whole.length - 1 && rest === ""; // only the line feed is missing
      const left = isWhole ? [A, { id: B.id }] : [A];
      expect(cut.file.read()).toMatchObject({ added: left, invalid: [] });
      if (end % 10 > 0 && !isWhole) continue;
      cut.file.add([C]);
      expect(new RevokedFile(cut.path).read()).toMatchObject({ added: [...left, C], invalid: [] });
    }
});

test.each([
  ["text", "key_aaaaaaaaaaaaaaaa\n"],
  ["a missing time", '{"id":"key_aaaaaaaaaaaaaaaa","author":"ada"}\n'],
  ["a wrong time", LINE.replace("2026-11", "2026-13")],
  ["a missing author", LINE.replace("author", "name")],
  ["a wrong time of creation", LINE.replace('"at"', '"created_at":"soon","at"')],
  ["no object", "[]\n"],
  ["bytes that are no text", "\u0001\u0002\n"],
])("a line that is not an entry is returned: %s", (_, line) => {
  const { file } = setUp(LINE + line);
  expect(file.read()).toEqual({ added: [A], invalid: [line.trimEnd()] });
  expect(file.read()).toEqual(nothing);
});

test("after a line was removed, the rest is known and what follows is read", () => {
  const { file, path, text } = setUp();
  file.add([A, B]);
  file.read();
  writeFileSync(`${path}.new`, text().split("\n").slice(1).join("\n"));
  renameSync(`${path}.new`, path);
  new RevokedFile(path).add([C]);
  expect(file.read().added).toEqual([C]);
  expect(file.timeOf(A.id)).toBe(AT); // until a restart
  expect(new RevokedFile(path).read().added).toEqual([B, C]);
});

test("only what was appended is read", () => {
  const { file, path } = setUp();
  file.add([A]);
  file.read();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill("x", 0, bytes.length - 1)); // as long as before
  appendFileSync(path, LINE.replaceAll("aaaa", "bbbb"));
  expect(file.read()).toEqual({ added: [B], invalid: [] });
});

test("what cannot be written is not remembered", () => {
  const { file, path } = setUp();
  mkdirSync(path);
  expect(() => file.add([A])).toThrow("EISDIR");
  expect(file.timeOf(A.id)).toBeUndefined();
  rmSync(path, { recursive: true });
  file.add([A]);
  expect(new RevokedFile(path).read().added).toEqual([A]);
});

test("a token that somebody wrote into the file is not part of an invalid line", () => {
  const { file } = setUp('{"id":"ink_live_secret","at":"now"}\nink_admin_secret\n');
  expect(file.read()).toEqual({ added: [], invalid: ['{"id":"ink_…","at":"now"}', "ink_…"] });
});
