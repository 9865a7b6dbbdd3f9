import { expect, test } from "bun:test";
import { linesIn } from "./input.ts";

/** Splits text that arrives in chunks of this many bytes. */
async function split(text: string, size: number, longest?: number): Promise<string[]> {
  const bytes = new TextEncoder().encode(text);
  const chunks = (async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
  })();
  const lines: string[] = [];
  for await (const some of linesIn(chunks, longest)) lines.push(...some);
  return lines;
}

test.each<[text: string, lines: string[]]>([
  ["a\nb\n", ["a", "b"]],
  ["a\r\nb\r\n\r\nc", ["a", "b", "", "c"]],
  ["a\rb\r\rc\r", ["a", "b", "", "c"]],
  ["a\rb\nc\r\nd\n\re", ["a", "b", "c", "d", "", "e"]],
  ["é\r\r\n😀\r\n", ["é", "", "😀"]],
  ["", []],
])("%j, however it arrives", async (text, lines) => {
  for (const size of [1, 2, 3, 100]) expect([size, await split(text, size)]).toEqual([size, lines]);
});

test("a line that is too long is split", async () =>
  expect(await split("aaaaaa\nb", 2, 3)).toEqual(["aaaa", "aa", "b"]));
