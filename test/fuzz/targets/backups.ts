// Fuzzes files of `inkling backup`, half of them with checksums of headers that match the damage. An archive is refused
// with a CliError, or every file in it that can be read has the content that its manifest promises.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArchive, tarHeader, writeArchive } from "../../../packages/cli/src/runtime/backup-archive.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import type { Random, Target } from "../target.ts";

const BLOCK = 512;
/** Where a header has the checksum of its own bytes. */
const CHECKSUM = 148;
const MAX_LENGTH = 1 << 21;

/** Updates the checksum of each header in half of the cases. */
function repair(damaged: Uint8Array, random: Random): Uint8Array {
  if (random(2) === 0) return damaged;
  const bytes = Buffer.from(damaged);
  for (let at = 0; at + BLOCK <= bytes.length; at += BLOCK) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header.toString("latin1", 257, 262) !== "ustar") continue;
    header.fill(" ", CHECKSUM, CHECKSUM + 8);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM);
  }
  return bytes;
}

export default function backups(): Target {
  const folder = temporaryFolder();
  const path = join(folder, "x.backup");
  const files = [
    { name: "inkling.db", content: Buffer.from("SQLite format 3\0".repeat(90)) },
    { name: "feeds.json", content: Buffer.from('{ "enabled": [], "disabled": [] }\n') },
    { name: "inkling.toml", content: Buffer.from("burst = 17\n") },
  ];
  const about = { program: "0.1.0", decisions: false, rows: { inkling_keys: 3 } };
  const corpus = [files, files.slice(1), []].map((some, i) => {
    const made = join(folder, `${i}.backup`);
    writeArchive(made, "process", about, some);
    return Uint8Array.from(readFileSync(made));
  });
  const header = (name: string, size: number) => tarHeader(name, size, 0).toString("latin1", 0, BLOCK);
  return {
    corpus,
    repair,
    tokens: [
      "ustar",
      "manifest.json",
      "../inkling.db",
      "-0000001000",
      "77777777777",
      "\x80\0\0\0\0\0\0\0\x01",
      '"sha256":"',
      '"version": 2',
      header("feeds.json", 34),
      "\0".repeat(BLOCK),
    ],
    check: (input) => {
      writeFileSync(path, input);
      const database = join(folder, "inkling.db");
      try {
        const { manifest, texts } = readArchive(path, database);
        for (const { name, sha256 } of manifest.files) {
          const text = name === "inkling.db" ? readFileSync(database, "utf8") : texts.get(name)!;
          if (text.length > MAX_LENGTH) throw new Error(`${text.length} characters of ${name}`);
          // Text that is not UTF-8 changes when it is decoded.
          if (text.includes("\ufffd")) continue;
          if (createHash("sha256").update(text).digest("hex") !== sha256)
            throw new Error(`${name} is not what the manifest promises`);
        }
        return "restorable";
      } catch (error) {
        if ((error as Error).name !== "CliError") throw error;
        return /damaged/.test((error as Error).message) ? "damaged" : "not a backup";
      }
    },
  };
}
