// archive.testing.ts: creates archives for tests.

import { crc32, deflateRawSync } from "node:zlib";

export interface Packed {
  readonly name: string;
  readonly text: string;
  readonly method?: number;
  readonly flags?: number;
}

/** Returns a zip file in the usual layout: local files, then the directory, then the end record. */
export function zip(entries: readonly Packed[], comment = ""): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, text, method = 8, flags = 0 } of entries) {
    const plain = Buffer.from(text);
    const body = method === 8 ? deflateRawSync(plain) : plain;
    const sizes = [crc32(plain), body.length, plain.length];
    // With flag 8, the sizes follow the body.
    const local = (flags & 8) !== 0 ? [0, 0, 0] : sizes;
    const head = (values: readonly number[]) => {
      const bytes = Buffer.alloc(26);
      bytes.writeUInt16LE(20, 0);
      bytes.writeUInt16LE(flags, 2);
      bytes.writeUInt16LE(method, 4);
      values.forEach((value, i) => {
        bytes.writeUInt32LE(value, 10 + 4 * i);
      });
      bytes.writeUInt16LE(Buffer.byteLength(name), 22);
      return bytes;
    };
    const tail = Buffer.alloc(18);
    tail.writeUInt32LE(at, 14);
    const file = Buffer.concat([
      Buffer.from("PK\x03\x04"),
      head(local),
      Buffer.from(name),
      body,
      ...((flags & 8) !== 0 ? [Buffer.alloc(16)] : []),
    ]);
    files.push(file);
    directory.push(
      Buffer.concat([Buffer.from("PK\x01\x02\x14\0"), head(sizes), tail.subarray(4), Buffer.from(name)]),
    );
    at += file.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...files, listed, end, Buffer.from(comment)]);
}

/** Returns a tar file: for each entry, a header block and then its text. */
export function tar(entries: readonly { name: string; text: string; type?: string }[]): Buffer {
  const blocks = entries.flatMap(({ name, text, type = "0" }) => {
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write(text.length.toString(8).padStart(11, "0"), 124);
    head.write(type, 156);
    head.write("ustar\x0000", 257);
    head.fill(" ", 148, 156);
    head.write(
      `${head
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
    );
    return [head, Buffer.from(text), Buffer.alloc((512 - (text.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
