// Fuzzes the data folder's list of revoked keys and admin tokens (the file `revoked`). Every undamaged line still applies,
// whatever surrounds it, and so does an entry that is appended to a damaged file. No token that somebody wrote into the
// file is returned.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RevokedFile } from "../../../packages/store/src/keys/revoked-file.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import type { Target } from "../target.ts";

const LINES = [
  '{"id":"key_0000000000000001","at":"2026-05-01T00:00:00.000Z","author":"ada"}',
  '{"id":"key_0000000000000002","at":"2026-05-01T00:00:00.001Z","author":"b \\u007d 東京"}',
  '{"id":"deploy","created_at":"2026-01-01T00:00:00.000Z","at":"2026-05-02T00:00:00.000Z","author":"ada"}',
];
const SECRET = "0123456789abcdefghijklmnopqrstuvwxyz";
const ADDED = { id: "key_0000000000000009", at: 1_780_000_000_000, author: "carol } x" };

export default function revocations(): Target {
  const path = join(temporaryFolder(), "revoked");
  const text = (lines: readonly string[]) => Buffer.from(lines.map((line) => `${line}\n`).join(""));
  return {
    corpus: [text(LINES), text([...LINES, LINES[0]!]), text([LINES[1]!, `ink_live_${SECRET}`, LINES[2]!])],
    tokens: [
      "\n",
      "\r\n",
      "\0\0\0\0",
      "}",
      "{",
      '"created_at":',
      '"id":"__proto__"',
      "null",
      "1e999",
      "275760-09-13",
      "\\ud800",
      `ink_live_${SECRET}`,
    ],
    check: (input) => {
      writeFileSync(path, input);
      const file = new RevokedFile(path);
      const { added, invalid } = file.read();
      const complete = Buffer.from(input).toString("utf8").split("\n");
      for (const line of LINES)
        if (complete.includes(line) && !hasEntry(file, line)) throw new Error(`left out: ${line}`);
      const told = invalid.find((line) => line.includes(`ink_live_${SECRET}`));
      if (told !== undefined) throw new Error(`a token is returned: ${told}`);
      file.add([ADDED]);
      const again = new RevokedFile(path);
      again.read();
      if (again.timeOf(ADDED.id) !== (file.timeOf(ADDED.id) ?? ADDED.at))
        throw new Error("the appended entry does not apply");
      for (const { id, at, createdAt } of added)
        if (createdAt === undefined ? again.timeOf(id) !== at : !again.hasToken(id, createdAt))
          throw new Error(`${id} was forgotten when an entry was appended`);
      rmSync(path);
      if (added.length === 0) return invalid.length > 0 ? "no entry" : "empty";
      return invalid.length > 0 ? "entries, and invalid lines" : "entries";
    },
  };
}

function hasEntry(file: RevokedFile, line: string): boolean {
  const { id, created_at } = JSON.parse(line);
  return created_at === undefined ? file.timeOf(id) !== undefined : file.hasToken(id, Date.parse(created_at));
}
