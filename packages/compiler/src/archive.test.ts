// Archives made by hand here, by GNU tar and by Info-ZIP's rules; and every cut and flipped byte of them.

import { describe, expect, test } from "bun:test";
import { crc32, deflateRawSync } from "node:zlib";
import { onlyMember } from "./archive.ts";

const MAX = 10_000;
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const text = (body: Uint8Array) => Buffer.from(body).toString("latin1");

interface Member {
  readonly name: string;
  readonly body?: string;
  /** "5": a folder, "0" or "\0": a file */
  readonly kind?: string;
}

function tar(...members: readonly Member[]): Uint8Array {
  const blocks = members.flatMap(({ name, body = "", kind = "0" }) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write("0000644\0", 100);
    header.write(`${body.length.toString(8).padStart(11, "0")}\0`, 124);
    header.write("        ", 148);
    header.write(kind, 156);
    header.write("ustar\x0000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const padded = Buffer.alloc(Math.ceil(body.length / 512) * 512);
    padded.write(body);
    return [header, padded];
  });
  return new Uint8Array(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

interface ZipOptions {
  readonly method?: number;
  readonly flags?: number;
  readonly size?: number;
  readonly comment?: string;
}

function zip(members: readonly Member[], options: ZipOptions = {}): Uint8Array {
  const { method = 8, flags = 0, comment = "" } = options;
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, body = "" } of members) {
    const data = method === 8 ? deflateRawSync(body) : Buffer.from(body);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(body), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(options.size ?? body.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, Buffer.from(name), data]);
    const entry = Buffer.alloc(46);
    entry.write("PK\x01\x02");
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(Buffer.concat([entry, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return new Uint8Array(Buffer.concat([...parts, ...directory, end, Buffer.from(comment)]));
}

const LIST = { name: "PX1.CSV", body: "1,2\n".repeat(50) };
const README = { name: "README.TXT", body: "read me" };
const FOLDER = { name: "GeoLite2-City_20260801/", kind: "5" };
const DATABASE = { name: "GeoLite2-City_20260801/GeoLite2-City.mmdb", body: "m".repeat(600) };

describe("the one file that is wanted", () => {
  const rows: [name: string, body: Uint8Array, ending: string, want: string][] = [
    ["no archive", bytes("192.0.2.1\n"), ".txt", "192.0.2.1\n"],
    ["nothing", bytes(""), ".txt", ""],
    ["a tar file with a folder", tar(FOLDER, README, DATABASE), ".mmdb", DATABASE.body],
    ["a tar file of old", tar({ ...DATABASE, kind: "\0" }), ".mmdb", DATABASE.body],
    ["a zip file, whatever the case of its name", zip([README, LIST]), ".csv", LIST.body],
    ["a zip file that packs nothing", zip([README, LIST], { method: 0 }), ".csv", LIST.body],
    ["a zip file with a comment", zip([LIST], { comment: "made for you" }), ".csv", LIST.body],
    ["a path that leads out is only a name", tar({ name: "../../x.mmdb", body: "m" }), ".mmdb", "m"],
  ];
  test.each(rows)("%s", (_name, body, ending, want) => {
    expect(text(onlyMember(body, ending, MAX))).toBe(want);
  });
  test("what tar gives is a view, no copy", () => {
    const body = tar(DATABASE);
    expect(onlyMember(body, ".mmdb", MAX).buffer).toBe(body.buffer);
  });
});

describe("refused", () => {
  const bomb = zip([{ name: "x.csv", body: "0".repeat(MAX * 50) }], { size: 10 });
  const rows: [name: string, body: Uint8Array, ending: string, message: string][] = [
    ["tar: no such file", tar(README), ".mmdb", "is an archive with 0 files *.mmdb, want one"],
    ["tar: two", tar(DATABASE, DATABASE), ".mmdb", "is an archive with 2 files *.mmdb, want one"],
    [
      "tar: a folder of that name",
      tar({ name: "x.mmdb", kind: "5" }),
      ".mmdb",
      "is an archive with 0 files *.mmdb",
    ],
    [
      "tar: cut inside the file",
      tar(DATABASE).subarray(0, 1_000),
      ".mmdb",
      "is a tar archive that is cut short",
    ],
    [
      "tar: cut before its end",
      tar(DATABASE).subarray(0, 1_536),
      ".mmdb",
      "is a tar archive that is cut short",
    ],
    ["zip: no such file", zip([README]), ".csv", "is an archive with 0 files *.csv, want one"],
    ["zip: empty", zip([]), ".csv", "is an archive with 0 files *.csv, want one"],
    ["zip: two", zip([LIST, LIST]), ".csv", "is an archive with 2 files *.csv, want one"],
    ["zip: cut short", zip([LIST]).subarray(0, -10), ".csv", "is a zip archive that is cut short"],
    ["zip: encrypted", zip([LIST], { flags: 1 }), ".csv", "is an encrypted zip archive"],
    [
      "zip: another method",
      zip([LIST], { method: 12 }),
      ".csv",
      "is a zip archive of an unknown method (12)",
    ],
    ["zip: too large by its own word", zip([LIST], { size: MAX + 1 }), ".csv", "is larger than 10000 bytes"],
    ["zip: a bomb that lies", bomb, ".csv", "is larger than 10000 bytes"],
    ["zip: of another size", zip([LIST], { size: 7 }), ".csv", "is a damaged zip archive"],
  ];
  test.each(rows)("%s", (_name, body, ending, message) => {
    expect(() => onlyMember(body, ending, MAX)).toThrow(message);
  });
});

test("every cut and every changed byte: the same file, or refused by name", () => {
  let refused = 0;
  let changed = 0;
  for (const [whole, ending, want] of [
    [tar(FOLDER, DATABASE), ".mmdb", DATABASE.body],
    [zip([README, LIST]), ".csv", LIST.body],
  ] as const) {
    const look = (body: Uint8Array) => {
      try {
        if (text(onlyMember(body, ending, MAX)) !== want) changed++;
      } catch (error) {
        expect(error).toHaveProperty("name", "FeedError");
        refused++;
      }
    };
    for (let length = 600; length < whole.length; length++) look(whole.subarray(0, length));
    for (let at = 0; at < whole.length; at++) {
      const body = whole.slice();
      body[at]! ^= 0x15;
      look(body);
    }
  }
  expect(refused).toBeGreaterThan(1_500);
  // tar has no sum of its content: MaxMind's checksum and the database's own structure are for that.
  expect(changed).toBeLessThan(1_200);
});
