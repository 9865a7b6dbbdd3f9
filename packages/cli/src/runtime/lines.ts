// lines.ts: a stream of UTF-8 as lines, grouped by chunk.

/**
 * @param longest a longer line comes in parts, each longer than that but for the last
 * @returns lines without their line feed; the last one needs none
 */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const chunk of chunks) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    const lines = [held + first, ...others]; // what was held is not searched again
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
