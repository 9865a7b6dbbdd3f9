// revocation-file.ts: keeps revocations that could not be stored in the database, in a fixed-size file in the data
// folder.
//
// in   a key's id, the author and the time, from a server or from a command on the same host
// out  the same revocations after a restart, until the database has them
// err  throws the file system's errors, and an Error if no slot is free; skips invalid lines
//
// A server creates the file at startup, while the disk still has room. Entries overwrite blanks, which needs no new
// disk space. A command adds an entry as `requested`, and the server then marks the entry as `applied`. Once the
// database has the revocation, the server clears the entry.

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
  /** "requested" means that no server has processed the entry yet. */
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

  /** Creates the file at its full size if it does not exist. */
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

  /** Adds a revocation. @returns its slot. @throws Error if there is no file, or no free slot */
  add(revocation: Revocation, state: FiledRevocation["state"]): number {
    const used = new Set(this.read().map(({ slot }) => slot));
    const free = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !used.has(slot));
    // Two commands that run at the same moment most likely choose different slots. A command whose slot was overwritten
    // chooses a different slot.
    const slot = free[Math.floor(Math.random() * free.length)];
    if (slot === undefined) throw new Error(`${this.path} is full: it holds ${SLOTS} revocations`);
    this.write(slot, entryBytes(revocation, state));
    const isThere = this.read().some((entry) => entry.slot === slot && entry.id === revocation.id);
    return isThere ? slot : this.add(revocation, state);
  }

  /** Marks an entry as applied, once the server refuses the key. */
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

/** Formats an entry, and shortens the author if the entry would not fit into a slot. */
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
    return undefined; // the entry is half written, or was edited by hand
  }
}
