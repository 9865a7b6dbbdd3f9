// lines.ts: splits a UTF-8 stream into lines, grouped by chunk.

/**
 * @param longest length from which an incomplete line is yielded as a part of a line; a complete line is yielded whole,
 *   however long it is
 * @returns lines without their line feeds; the last line does not need a line feed
 */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const chunk of chunks) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    const lines = [held + first, ...others]; // the text that was held back is not searched again
    held = lines.pop() ?? "";
    if (held.length > longest) {
      lines.push(held);
      held = "";
    }
    yield lines;
  }
  held += decoder.decode();
  if (held !== "") yield [held];
}
