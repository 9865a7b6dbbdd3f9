// decode.ts: the text of a file that is compressed, or not UTF-8.
//
// in   chunks of bytes, from a file or a pipe
// out  chunks of UTF-8; what was recognized by the first bytes: gzip, zstd, UTF-16
// err  BulkError: compressed data that is damaged or ends too early; zeros after gzip's end are padding, as for gzip(1)
// cost as little memory as the streams need, however much comes out: a bomb is only a long file

import { createGunzip, type Gunzip } from "node:zlib";
import { BulkError } from "./errors.ts";

export type Encoding = "gzip" | "zstd" | "UTF-16";

interface Form {
  readonly name: Encoding;
  readonly magic: readonly number[];
  decode(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** A frame that zstd skips may come first, as `pzstd` writes it. @src RFC 8878, 3.1.2 */
const SKIPPED = Array.from({ length: 16 }, (_, i) => [0x50 + i, 0x2a, 0x4d, 0x18]);

const FORMS: readonly Form[] = [
  { name: "gzip", magic: [0x1f, 0x8b], decode: gunzipped },
  ...[[0x28, 0xb5, 0x2f, 0xfd], ...SKIPPED].map(
    (magic) => ({ name: "zstd", magic, decode: fromZstd }) as const,
  ),
  { name: "UTF-16", magic: [0xff, 0xfe], decode: (chunks) => fromUtf16(chunks, "utf-16le") },
  { name: "UTF-16", magic: [0xfe, 0xff], decode: (chunks) => fromUtf16(chunks, "utf-16be") },
];
const MAX_MAGIC = 4;
/** A gzip file in a gzip file, of UTF-16. */
const MAX_LAYERS = 3;

interface Decoded {
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

/** A source whose own error is no fault of the format. */
class Source {
  failure: { readonly error: unknown } | undefined;
  /** Bytes up to the last one that is not 0. */
  used = 0;
  private readonly source: AsyncIterable<Uint8Array>;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.source = source;
  }

  async *chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let read = 0;
    try {
      for await (const chunk of this.source) {
        let end = chunk.length;
        while (end > 0 && chunk[end - 1] === 0) end--;
        if (end > 0) this.used = read + end;
        read += chunk.length;
        yield chunk as Uint8Array<ArrayBuffer>;
      }
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }

  explained(error: unknown, format: Encoding): unknown {
    if (this.failure !== undefined) return this.failure.error;
    return new BulkError(
      `the ${format} data is damaged or ends too early: ${(error as Error).message}`,
      `check it: ${format} -t FILE`,
    );
  }
}

/** node:zlib, since DecompressionStream refuses what comes after the end, be it padding. */
async function* gunzipped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = new Source(chunks);
  const packed = source.chunks();
  const gunzip = createGunzip({ chunkSize: 1 << 16 });
  const feed = async () => {
    try {
      for await (const chunk of packed) await written(gunzip, chunk);
      gunzip.end();
    } catch (error) {
      gunzip.destroy(error as Error);
    }
  };
  void feed();
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
    for await (const _ of packed); // what is left when the last member has ended
    if (source.used > gunzip.bytesWritten) throw new Error("other data after its end");
  } catch (error) {
    throw source.explained(error, "gzip");
  } finally {
    gunzip.destroy();
    void packed.return(undefined).catch(() => {}); // gunzip reports its errors
  }
}

/** Until a chunk is unpacked, and what comes out of it is taken. */
const written = (gunzip: Gunzip, chunk: Uint8Array) =>
  new Promise<void>((resolve, reject) => {
    gunzip.write(chunk, (error) => (error ? reject(error) : resolve()));
  });

async function* fromZstd(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = new Source(chunks);
  const packed = source.chunks();
  const input = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { value, done } = await packed.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
      }
    },
  });
  try {
    yield* input.pipeThrough(new DecompressionStream("zstd")) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw source.explained(error, "zstd");
  }
}

async function* fromUtf16(
  chunks: AsyncIterable<Uint8Array>,
  encoding: "utf-16le" | "utf-16be",
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true }); // it remains, for spreadsheets, as that of UTF-8
  const encoder = new TextEncoder();
  for await (const chunk of chunks) yield encoder.encode(decoder.decode(chunk, { stream: true }));
  yield encoder.encode(decoder.decode());
}
