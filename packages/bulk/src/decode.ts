// decode.ts: decompresses a file.
//
// in   chunks of bytes, from a file or a pipe
// out  chunks of bytes, and the encodings recognized by the first bytes: gzip, zstd
// err  BulkError for compressed data that is damaged or ends too early, or for data in another format, such as UTF-16
//      or Parquet. As in gzip(1), zeros after the end of gzip data are padding
// cost only the memory that the streams need, regardless of the size of the output. A decompression bomb is just a long
//      file

import { createGunzip, type Gunzip } from "node:zlib";
import { BulkError } from "./errors.ts";

export type Encoding = "gzip" | "zstd";

interface Compression {
  readonly name: Encoding;
  readonly magic: readonly number[];
  decode(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** A file may begin with a frame that zstd skips, as `pzstd` writes. @src RFC 8878, 3.1.2 */
const SKIPPED = Array.from({ length: 16 }, (_, i) => [0x50 + i, 0x2a, 0x4d, 0x18]);

const COMPRESSIONS: readonly Compression[] = [
  { name: "gzip", magic: [0x1f, 0x8b], decode: gunzipped },
  ...[[0x28, 0xb5, 0x2f, 0xfd], ...SKIPPED].map(
    (magic) => ({ name: "zstd", magic, decode: fromZstd }) as const,
  ),
];
const DECOMPRESS = "decompress it first, or compress it with gzip or zstd";
const compressed = (name: string, magic: string, hint = DECOMPRESS) =>
  [magic, `the input is compressed with ${name}, which is not supported`, hint] as const;
const otherFormat = (name: string, magic: string, hint: string) =>
  [magic, `${name} is not supported`, hint] as const;

/**
 * Formats that cannot be read, so that their bytes are not taken for text. The fifth byte of a Parquet file starts the
 * header of a page or the footer. Without this byte, a CSV file whose first column is PAR1 would be refused.
 */
const UNSUPPORTED: readonly (readonly [magic: string, message: string, hint: string])[] = [
  ...Array.from({ length: 9 }, (_, i) => compressed("bzip2", `BZh${i + 1}`)),
  compressed("zip", "PK\x03\x04", `${DECOMPRESS}; save an Excel file as CSV`),
  compressed("xz", "\xfd7zX"),
  compressed("7z", "7z\xbc\xaf"),
  compressed("lz4", "\x04\x22\x4d\x18"),
  otherFormat(
    "Parquet",
    "PAR1\x15",
    "convert it to CSV first: duckdb -c \"COPY (FROM 'IN.parquet') TO 'OUT.csv'\"",
  ),
  otherFormat(
    "Avro",
    "Obj\x01",
    "convert it to CSV first: duckdb -c \"INSTALL avro; LOAD avro; COPY (FROM read_avro('IN.avro')) TO 'OUT.csv'\"",
  ),
  ...["\xff\xfe", "\xfe\xff"].map((mark) =>
    otherFormat("UTF-16", mark, "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8 IN.csv > OUT.csv"),
  ),
  otherFormat("the Excel format .xls", "\xd0\xcf\x11\xe0", "save the file as CSV"),
];
const MAX_MAGIC = 5;
/** Maximum number of layers, enough for a file that was compressed twice. */
const MAX_LAYERS = 2;

interface Decoded {
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly encodings: readonly Encoding[];
}

/**
 * @param chunks only the first bytes are read before this returns
 * @throws BulkError for a format that cannot be read
 */
export async function decode(chunks: AsyncIterable<Uint8Array>): Promise<Decoded> {
  const encodings: Encoding[] = [];
  for (let layer = await peek(chunks); ; ) {
    const compression = COMPRESSIONS.find(({ magic }) => magic.every((byte, i) => layer.first[i] === byte));
    if (compression === undefined) refuseUnsupported(layer.first);
    if (compression === undefined || encodings.length === MAX_LAYERS)
      return { chunks: layer.chunks, encodings };
    encodings.push(compression.name);
    layer = await peek(compression.decode(layer.chunks));
  }
}

function refuseUnsupported(first: Uint8Array): void {
  const text = Buffer.from(first).toString("latin1");
  const row = UNSUPPORTED.find(([magic]) => text.startsWith(magic));
  if (row === undefined) return;
  const [, message, hint] = row;
  throw new BulkError(message, hint, true);
}

/** Returns the first bytes, and all chunks. */
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

/** Wraps a source, so that its own errors are not reported as damage to the format. */
class Watched {
  failure: { readonly error: unknown } | undefined;
  /** Number of bytes up to the last byte that is not 0. */
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
      `the ${format} data is damaged or truncated: ${(error as Error).message}`,
      `check it: ${format} -t FILE`,
    );
  }
}

/**
 * Decompresses gzip data. Uses node:zlib, because DecompressionStream refuses anything after the end of the data, even
 * padding.
 */
async function* gunzipped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = new Watched(chunks);
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
    for await (const _ of packed); // reads the rest after the last member has ended
    if (source.used > gunzip.bytesWritten) throw new Error("unexpected data after the end");
  } catch (error) {
    throw source.explained(error, "gzip");
  } finally {
    gunzip.destroy();
    void packed.return(undefined).catch(() => {}); // gunzip reports errors of the source
  }
}

/** Resolves when a chunk has been unpacked and its output has been consumed. */
const written = (gunzip: Gunzip, chunk: Uint8Array) =>
  new Promise<void>((resolve, reject) => {
    gunzip.write(chunk, (error) => (error ? reject(error) : resolve()));
  });

async function* fromZstd(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = new Watched(chunks);
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
