// revocation-file.ts: revocations that the database could not take, in a file of the data folder whose size never changes.
//
// in   a key's id, the author and the time, from a server or from a command beside it
// out  the same after a restart, until the database has them
// err  throws what the file system throws; a line that this program did not write is left out
//
// A server creates the file at its start, when the disk has room. Entries are written over blanks: that needs no new disk
// space. A command writes an entry, the server answers in it (`applied`), and clears it once the database has it.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { replaceFile } from "@inkling/release-store";
import { type Actor, WAYS } from "./actor.ts";
import type { EpochMs, KeyId } from "./key.ts";

export interface Revocation {
  readonly id: KeyId;
  readonly at: EpochMs;
  readonly by: Actor;
}

export interface FiledRevocation extends Revocation {
  readonly slot: number;
  /** requested: no server has taken it yet. */
  readonly state: "requested" | "applied";
}

const SLOTS = 128;
const SLOT_BYTES = 512;
const MODE = 0o640;
const LF = 10;
const BLANK = slotBytes("");
const KEY_ID = /^key_[0-9A-Za-z]{16}$/;

export class RevocationFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Creates the file if there is none, with all its space. */
  create(): void {
    if (existsSync(this.path)) return;
    replaceFile(this.path, [Buffer.concat(Array.from({ length: SLOTS }, () => BLANK))], { mode: MODE });
  }

  read(): FiledRevocation[] {
    if (!existsSync(this.path)) return [];
    const bytes = readFileSync(this.path);
    const found: FiledRevocation[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      const text = bytes
        .subarray(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES)
        .toString()
        .trim();
      const entry = text === "" ? undefined : revocationOf(text);
      if (entry !== undefined) found.push({ ...entry, slot });
    }
    return found;
  }

  /** @returns its slot. @throws Error when there is no file, or no free slot */
  add(revocation: Revocation, state: FiledRevocation["state"]): number {
    const used = new Set(this.read().map(({ slot }) => slot));
    const free = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !used.has(slot));
    // Two commands at the same moment take different slots, most likely; the one that lost its slot takes another.
    const slot = free[Math.floor(Math.random() * free.length)];
    if (slot === undefined) throw new Error(`${this.path} is full: it holds ${SLOTS} revocations`);
    this.write(slot, entryBytes(revocation, state));
    const isThere = this.read().some((entry) => entry.slot === slot && entry.id === revocation.id);
    return isThere ? slot : this.add(revocation, state);
  }

  /** A server has taken it. */
  markApplied({ slot, ...revocation }: FiledRevocation): void {
    this.write(slot, entryBytes(revocation, "applied"));
  }

  clear(slot: number): void {
    this.write(slot, BLANK);
  }

  private write(slot: number, bytes: Buffer): void {
    const file = openSync(this.path, "r+");
    try {
      writeSync(file, bytes, 0, bytes.length, slot * SLOT_BYTES);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

function slotBytes(text: string): Buffer {
  const bytes = Buffer.alloc(SLOT_BYTES, " ");
  bytes.write(text);
  bytes[SLOT_BYTES - 1] = LF;
  return bytes;
}

/** The author is shortened to what fits. */
function entryBytes({ id, at, by }: Revocation, state: FiledRevocation["state"]): Buffer {
  let author = by.actor;
  for (;;) {
    const text = JSON.stringify({ id, at, actor: author, way: by.way, state });
    if (Buffer.byteLength(text) < SLOT_BYTES) return slotBytes(text);
    author = [...author].slice(0, -1).join("");
  }
}

function revocationOf(text: string): Omit<FiledRevocation, "slot"> | undefined {
  try {
    const { id, at, actor, way, state } = JSON.parse(text);
    const isOurs =
      KEY_ID.test(id) &&
      Number.isSafeInteger(at) &&
      typeof actor === "string" &&
      (way === undefined || WAYS.includes(way));
    if (!isOurs || (state !== "requested" && state !== "applied")) return undefined;
    return { id, at, by: { actor, way }, state };
  } catch {
    return undefined; // half written, or by hand
  }
}
