// lines.ts: splits a UTF-8 stream into lines, grouped by chunk.

/**
 * @param longest length from which an incomplete line is yielded as a part of a line; a complete line is yielded whole,
 *   however long it is
 * @returns lines without their ends (LF, CRLF or CR); the last line does not need an end
 */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let held = "";
  let endsInCr = false; // the LF of a CRLF may be in the next chunk
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === "") continue;
    if (endsInCr && text.startsWith("\n")) text = text.slice(1);
    endsInCr = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n?|\n/);
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
