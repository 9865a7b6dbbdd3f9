// lines.ts: splits a UTF-8 stream into lines, grouped by chunk.

/**
 * @param longest maximum length of a line; a longer line is split into parts, and each part except the last is longer
 *   than this
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
