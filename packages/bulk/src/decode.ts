// decode.ts: the text of a file that is compressed, or not UTF-8.
//
// in   chunks of bytes, from a file or a pipe
// out  chunks of UTF-8; what was recognized by the first bytes: gzip, zstd, UTF-16
// err  BulkError: compressed data that is damaged or ends too early
// cost as little memory as the streams need, however much comes out: a bomb is only a long file

import { BulkError } from "./errors.ts";

export type Encoding = "gzip" | "zstd" | "UTF-16";

interface Form {
  readonly name: Encoding;
  readonly magic: readonly number[];
  decode(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

const FORMS: readonly Form[] = [
  { name: "gzip", magic: [0x1f, 0x8b], decode: (chunks) => unpacked(chunks, "gzip") },
  { name: "zstd", magic: [0x28, 0xb5, 0x2f, 0xfd], decode: (chunks) => unpacked(chunks, "zstd") },
  { name: "UTF-16", magic: [0xff, 0xfe], decode: (chunks) => fromUtf16(chunks, "utf-16le") },
  { name: "UTF-16", magic: [0xfe, 0xff], decode: (chunks) => fromUtf16(chunks, "utf-16be") },
];
const MAX_MAGIC = 4;
/** A gzip file in a gzip file, of UTF-16. */
const MAX_LAYERS = 3;

export interface Decoded {
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly encodings: readonly Encoding[];
}

/** @param chunks read to the end of the first bytes only */
export async function decode(chunks: AsyncIterable<Uint8Array>): Promise<Decoded> {
  const encodings: Encoding[] = [];
  for (let layer = await peek(chunks); ; ) {
    const form = FORMS.find(({ magic }) => magic.every((byte, i) => layer.first[i] === byte));
    if (form === undefined || encodings.length === MAX_LAYERS) return { chunks: layer.chunks, encodings };
    encodings.push(form.name);
    layer = await peek(form.decode(layer.chunks));
  }
}

/** The first bytes, and all chunks. */
async function peek(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ first: Uint8Array; chunks: AsyncGenerator<Uint8Array> }> {
  const rest = chunks[Symbol.asyncIterator]();
  const begun: Uint8Array[] = [];
  let length = 0;
  while (length < MAX_MAGIC) {
    const { value, done } = await rest.next();
    if (done) break;
    begun.push(value);
    length += value.length;
  }
  return {
    first: Buffer.concat(begun).subarray(0, MAX_MAGIC),
    chunks: (async function* () {
      yield* begun;
      yield* { [Symbol.asyncIterator]: () => rest };
    })(),
  };
}

async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  format: "gzip" | "zstd",
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let failure: { readonly error: unknown } | undefined; // of the source, which is no fault of the format
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { value, done } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value as Uint8Array<ArrayBuffer>);
      } catch (error) {
        failure = { error };
        controller.error(error);
      }
    },
  });
  try {
    yield* source.pipeThrough(new DecompressionStream(format)) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (failure !== undefined) throw failure.error;
    throw new BulkError(
      `the ${format} data is damaged or ends too early: ${(error as Error).message}`,
      `check it: ${format} -t FILE`,
    );
  }
}

async function* fromUtf16(
  chunks: AsyncIterable<Uint8Array>,
  encoding: "utf-16le" | "utf-16be",
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true }); // it stays, for spreadsheets, as that of UTF-8
  const encoder = new TextEncoder();
  for await (const chunk of chunks) yield encoder.encode(decoder.decode(chunk, { stream: true }));
  yield encoder.encode(decoder.decode());
}
