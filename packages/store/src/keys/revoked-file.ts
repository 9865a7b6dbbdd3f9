// revoked-file.ts: the data folder's append-only list of revoked keys and admin tokens. This host refuses
// everything on the list, whatever the database says, so that an older database makes nothing valid again.
//
// A removed line is forgotten at the next start. Cost: one stat per check; if the file has changed, it is read.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { giveToFolderOwner, PRIVATE_FILE, syncFolder } from "@inkling/data";
import { isoTime } from "./day.ts";
import type { EpochMs } from "./key.ts";

export interface Revocation {
  /** The id of a key, or the name of an admin token. */
  readonly id: string;
  readonly at: EpochMs;
  readonly author: string;
  /** When the admin token was created; undefined for a key. */
  readonly createdAt?: EpochMs;
}

const LF = 10;
/** Hides tokens in logged lines, because somebody may write a token into the file instead of its key's id. */
const TOKEN = /ink_[^\s"]*/g;

export class RevokedFile {
  readonly path: string;
  private readonly times = new Map<string, EpochMs>();
  private inode: number | undefined;
  /** Number of bytes that were read. They end with a line feed. */
  private offset = 0;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Reads what was appended since the last call. If the file was replaced or became shorter, reads all of it.
   * @returns the new revocations, and complete lines that are not entries
   */
  read(): { readonly added: readonly Revocation[]; readonly invalid: readonly string[] } {
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (found === undefined) return { added: [], invalid: [] };
    if (found.ino !== this.inode || found.size < this.offset) this.offset = 0;
    this.inode = found.ino;
    if (found.size === this.offset) return { added: [], invalid: [] };
    const bytes = readFileSync(this.path).subarray(this.offset);
    const { revocations, invalid } = parseRevocations(bytes.toString());
    this.offset += bytes.lastIndexOf(LF) + 1;
    return { added: revocations.filter((one) => this.remember(one)), invalid };
  }

  /** Appends what the file does not list yet, and flushes it to the disk. @throws the file system's errors */
  add(revocations: readonly Revocation[]): void {
    this.read();
    const missing = revocations.filter((one) => !this.times.has(keyOf(one)));
    if (missing.length === 0) return;
    append(this.path, missing.map(lineOf).join(""));
    missing.forEach((one) => void this.remember(one));
  }

  /** Returns when a key was revoked, as of the last read; undefined if the file does not list it. */
  timeOf(keyId: string): EpochMs | undefined {
    return this.times.get(keyId);
  }

  hasToken(name: string, createdAt: EpochMs): boolean {
    return this.times.has(keyOf({ id: name, createdAt }));
  }

  /** Returns the listed keys for which `has` returns true. */
  keysOf(has: (keyId: string) => boolean): ReadonlySet<string> {
    return new Set([...this.times.keys()].filter(has));
  }

  get isEmpty(): boolean {
    return this.times.size === 0;
  }

  /** @returns false if it was known */
  private remember(revocation: Revocation): boolean {
    const key = keyOf(revocation);
    if (this.times.has(key)) return false;
    this.times.set(key, revocation.at);
    return true;
  }
}

const keyOf = ({ id, createdAt }: Pick<Revocation, "id" | "createdAt">) =>
  createdAt === undefined ? id : `${id} ${createdAt}`;

function lineOf({ id, at, author, createdAt }: Revocation): string {
  const created = createdAt === undefined ? {} : { created_at: isoTime(createdAt) };
  const text = JSON.stringify({ id, ...created, at: isoTime(at), author });
  // Only a complete line ends with a brace, whatever the author's name contains.
  return `${text.slice(0, -1).replaceAll("}", "\\u007d")}}\n`;
}

/** Is this what a crash leaves of a line: nothing, its beginning, or zeros? */
const isCutOff = (line: string) =>
  line === "" || line.includes("\0") || (line.startsWith("{") && !line.endsWith("}"));

/** @returns the entries, and complete lines that are not entries */
export function parseRevocations(text: string) {
  const revocations: Revocation[] = [];
  const invalid: string[] = [];
  const lines = text.split("\n");
  const rest = lines.pop()!; // "" unless a crash cut off the last line, or an editor left out its line feed
  if (revocationOf(rest) !== undefined) lines.push(rest);
  for (const line of lines) {
    if (isCutOff(line)) continue;
    const revocation = revocationOf(line);
    if (revocation === undefined) invalid.push(line.replace(TOKEN, "ink_…"));
    else revocations.push(revocation);
  }
  return { revocations, invalid };
}

function revocationOf(line: string): Revocation | undefined {
  try {
    const { id, at, author, created_at } = JSON.parse(line);
    const time = Date.parse(at);
    if (typeof id !== "string" || typeof author !== "string" || Number.isNaN(time)) return undefined;
    if (created_at === undefined) return { id, at: time, author };
    const createdAt = Date.parse(created_at);
    return Number.isNaN(createdAt) ? undefined : { id, at: time, author, createdAt };
  } catch {
    return undefined;
  }
}

function append(path: string, lines: string): void {
  const isNew = !existsSync(path);
  const file = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, PRIVATE_FILE);
  try {
    if (isNew) giveToFolderOwner(file, path);
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    // What a crash cut off must not become part of the next line. One write, because other processes also append.
    const bytes = Buffer.from(size === 0 || last[0] === LF ? lines : `\n${lines}`);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (isNew) syncFolder(dirname(path));
}
