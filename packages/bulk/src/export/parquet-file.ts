// parquet-file.ts: row groups of a Parquet file, of column chunks that are encoded already.
//
// in   chunks of columns (parquet-columns.ts)
// out  the bytes of the file; hyparquet-writer prints the headers of pages and the metadata
// src  Apache Parquet format: encodings PLAIN and RLE_DICTIONARY, data page version 2; pages compressed with Zstandard
// note hyparquet-writer also encodes columns of values, but hashes and compares each of them: for 15 million rows of 19
//      columns that took three times the CPU time of the CSV.

import type { ColumnChunk, KeyValue, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";

/** Rows of a group. */
export const ROWS_OF_GROUP = 100_000;

/** Fast, and smaller than Snappy; every engine reads it. */
const zstd = (bytes: Uint8Array) => Bun.zstdCompressSync(bytes, { level: 1 });

/** What a column chunk is made of; `min` and `max` let readers skip row groups. */
export interface Chunk {
  readonly encoding: "PLAIN" | "RLE_DICTIONARY";
  readonly data: Uint8Array;
  readonly dictionary?: { readonly data: Uint8Array; readonly count: number } | undefined;
  readonly levels: Uint8Array;
  readonly nulls: number;
  readonly min: Bound;
  readonly max: Bound;
}
type Bound = Uint8Array | number | boolean | undefined;

export interface Column {
  readonly element: SchemaElement;
  /**
   * The rows of a group, forgotten afterwards.
   * @param rows the answer of each row
   */
  takeChunk(rows: Uint32Array): Chunk;
}

export class ParquetFile {
  private readonly writer = new ByteWriter();
  private readonly file: ParquetWriter;
  private readonly columns: readonly Column[];

  constructor(columns: readonly Column[], kvMetadata: KeyValue[]) {
    this.columns = columns;
    this.file = new ParquetWriter({
      writer: this.writer,
      schema: [{ name: "root", num_children: columns.length }, ...columns.map(({ element }) => element)],
      createdBy: "Inkling",
      statisticsTruncateLength: 64, // by default 16: of IPv4 those begin alike
      kvMetadata,
    });
  }

  /**
   * Ends a row group.
   * @param rows the answer of each row
   */
  endGroup(rows: Uint32Array): void {
    const start = this.writer.offset;
    const columns = this.columns.map((column) =>
      this.writeChunk(column.element, column.takeChunk(rows), rows.length),
    );
    const total = columns.reduce((sum, { meta_data }) => sum + meta_data!.total_uncompressed_size, 0n);
    this.file.row_groups.push({
      columns,
      total_byte_size: total,
      num_rows: BigInt(rows.length),
      total_compressed_size: BigInt(this.writer.offset - start),
    });
    this.file.num_rows += BigInt(rows.length);
  }

  /** Ends the file; its last bytes are to be taken. */
  finish(): void {
    this.file.finish();
  }

  /** What was written since the last time. */
  take(): Uint8Array {
    const bytes = new Uint8Array(this.writer.getBuffer());
    this.writer.index = 0;
    return bytes;
  }

  private writeChunk(element: SchemaElement, chunk: Chunk, rows: number): ColumnChunk {
    const { writer } = this;
    const { encoding, dictionary, levels, data, nulls, min, max } = chunk;
    const start = writer.offset;
    let expanded = 0;
    if (dictionary !== undefined) {
      const packed = zstd(dictionary.data);
      const header = { num_values: dictionary.count, encoding: "PLAIN" as const };
      const bodySize = dictionary.data.length;
      expanded += this.writeHeader("DICTIONARY_PAGE", bodySize, packed.length, {
        dictionary_page_header: header,
      });
      writer.appendBytes(packed);
    }
    const dataStart = writer.offset;
    const packed = zstd(data);
    expanded += this.writeHeader("DATA_PAGE_V2", levels.length + data.length, levels.length + packed.length, {
      data_page_header_v2: {
        num_values: rows,
        num_nulls: nulls,
        num_rows: rows,
        encoding,
        definition_levels_byte_length: levels.length,
        repetition_levels_byte_length: 0,
        is_compressed: true,
      },
    });
    writer.appendBytes(levels);
    writer.appendBytes(packed);
    return {
      file_offset: BigInt(start),
      meta_data: {
        type: element.type!,
        encodings: dictionary === undefined ? [encoding] : ["PLAIN", encoding],
        path_in_schema: [element.name],
        codec: "ZSTD",
        num_values: BigInt(rows),
        total_compressed_size: BigInt(writer.offset - start),
        total_uncompressed_size: BigInt(expanded),
        data_page_offset: BigInt(dataStart),
        ...(dictionary === undefined ? {} : { dictionary_page_offset: BigInt(start) }),
        statistics: {
          null_count: BigInt(nulls),
          ...(min === undefined ? {} : { min_value: min }),
          ...(max === undefined ? {} : { max_value: max }),
        },
      },
    };
  }

  /** @returns how many bytes header and page take, without compression */
  private writeHeader(
    type: "DICTIONARY_PAGE" | "DATA_PAGE_V2",
    size: number,
    packedSize: number,
    header: object,
  ): number {
    const start = this.writer.offset;
    writePageHeader(this.writer, {
      type,
      uncompressed_page_size: size,
      compressed_page_size: packedSize,
      ...header,
    });
    return this.writer.offset - start + size;
  }
}
