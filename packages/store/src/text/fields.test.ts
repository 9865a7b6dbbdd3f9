import { describe, expect, test } from "bun:test";
import { KeyInputError, keyFromRow, rowFromKey } from "../keys/key.ts";
import { parseNewKey } from "../keys/key-input.ts";
import { visibleText } from "./fields.ts";

const INVISIBLE: [name: string, character: string, code: string][] = [
  ["right-to-left override", "\u202e", "U+202E"],
  ["right-to-left mark", "\u200f", "U+200F"],
  ["isolate", "\u2067", "U+2067"],
  ["zero-width space", "\u200b", "U+200B"],
  ["zero-width joiner", "\u200d", "U+200D"],
  ["word joiner", "\u2060", "U+2060"],
  ["soft hyphen", "\u00ad", "U+00AD"],
  ["byte order mark", "\ufeff", "U+FEFF"],
  ["Hangul filler", "\u3164", "U+3164"],
  ["blank of Braille", "\u2800", "U+2800"],
  ["variation selector", "\ufe0f", "U+FE0F"],
  ["tag", "\u{e0041}", "U+E0041"],
];

describe.each(INVISIBLE)("%s", (_, character, code) => {
  const name = `sh${character}op`;

  test("is refused in a new name, by its number", () => {
    let problems: readonly string[] = [];
    try {
      parseNewKey({ name }, 0);
    } catch (error) {
      if (error instanceof KeyInputError) problems = error.problems;
    }
    expect(problems).toEqual([
      `name: must not contain invisible characters or text-direction controls: ${code}`,
    ]);
  });

  test("is shown as its number in a name that is stored", () => {
    const key = {
      ...parseNewKey({ name: "x" }, 0),
      id: "key_a",
      hint: "",
      createdAt: 0,
      revokedAt: undefined,
    };
    expect(keyFromRow({ ...rowFromKey(key), name }).name).toBe(`sh<${code}>op`);
  });
});

test.each(["shop", "Käse & 東京", "متجر", "חנות", "❤️ shop", "👩‍💻", "👩🏽‍🚀 team", "a\u0301"])(
  "stays as it is: %s",
  (name) => {
    expect(parseNewKey({ name }, 0).name).toBe(name);
    expect(visibleText(name)).toBe(name);
  },
);
