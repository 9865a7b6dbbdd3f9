// shared-memory.ts: creates the memory that the primary and its workers share: limits, counts, visitor counts, open
// connections, and the primary's beats.
//
// The file has no name. It is unlinked as soon as it is open, and workers inherit the descriptor, so a crash leaves no
// file behind. The file is in /dev/shm if that exists. On a disk, the system would write its pages back every few
// seconds, and the next write to such a page would wait. The file is filled with zeros at creation, because touching a
// page that has no space behind it kills the process.
//
// Layout: for each worker its counts (Counts) and one cache line with its open connections and the primary's beats;
// then the visitor counts; then the marks of the cells in use; then one cell per key.

import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "@inkling/data";
import type { EpochMs } from "@inkling/store/keys/key";
import { VISITOR_COUNTS_BYTES, VisitorCounts } from "../decisions/visitor-counts.ts";
import { StartError } from "../http/start-error.ts";
import type { CellMemory } from "../limits/cell-memory.ts";
import { CELL_BYTES, LimitCells, MARKS_BYTES } from "../limits/cells.ts";
import { COUNTS_BYTES, Counts } from "../telemetry/counts.ts";
import type { WorkerSlot } from "./messages.ts";
import { FOLDERS, inFolder } from "./table-sender.ts";

/** The descriptor of the shared memory in a worker process. */
export const WORKER_DESCRIPTOR = 3;
/**
 * The descriptor of the primary's standard error in a worker process. The worker's own standard error is a pipe, from
 * which the primary reads crash reports.
 */
export const LOG_DESCRIPTOR = 4;
const LINE_BYTES = 64;
const COUNTED_BYTES = Math.ceil(COUNTS_BYTES / LINE_BYTES) * LINE_BYTES;
const WORKER_BYTES = COUNTED_BYTES + LINE_BYTES;
const CHUNK_BYTES = 1 << 20;

/**
 * Identifies the memory layout, which may differ in other versions of the code. Primary and workers must use the same
 * layout.
 */
export const LAYOUT = `7 ${WORKER_BYTES} ${VISITOR_COUNTS_BYTES} ${CELL_BYTES}`;

const marksAt = (workers: number) => workers * WORKER_BYTES + VISITOR_COUNTS_BYTES;
const cellsAt = (workers: number) => marksAt(workers) + MARKS_BYTES;
const bytesFor = (workers: number, cells: number) => cellsAt(workers) + cells * CELL_BYTES;

/** The view that one process has of the shared memory. */
export class SharedView {
  readonly cells: LimitCells;
  private readonly memory: Uint8Array<ArrayBuffer>;
  private readonly workers: number;

  /** @param base the base time, the same in every process */
  constructor(descriptor: number, workers: number, base: EpochMs) {
    const folder = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
    this.memory = Bun.mmap(`${folder}/${descriptor}`, { shared: true }) as Uint8Array<ArrayBuffer>;
    this.workers = workers;
    const marks = this.memory.subarray(marksAt(workers), cellsAt(workers));
    this.cells = new LimitCells(this.memory.subarray(cellsAt(workers)), base, marks);
  }

  /** Returns the visitor counts, which all workers share. @param key the same in every process */
  visitorCounts(key: Uint8Array): VisitorCounts {
    return new VisitorCounts(this.memory.subarray(this.workers * WORKER_BYTES, marksAt(this.workers)), key);
  }

  /** Returns the counts of a worker's slot, including those of earlier workers in the same slot. */
  countsOf(slot: WorkerSlot): Counts {
    return new Counts(this.memory.subarray(slot * WORKER_BYTES, slot * WORKER_BYTES + COUNTED_BYTES));
  }

  /** Tells all workers that the primary is alive. Only the primary calls it. */
  beat(): void {
    for (let slot = 0; slot < this.workers; slot++) Atomics.add(this.beatsOf(slot), 0, 1);
  }

  /** Returns a number that changes with each beat of the primary. */
  readBeats(slot: WorkerSlot): number {
    return Atomics.load(this.beatsOf(slot), 0);
  }

  private beatsOf(slot: WorkerSlot): Int32Array {
    const { buffer, byteOffset } = this.memory;
    return new Int32Array(buffer, byteOffset + slot * WORKER_BYTES + COUNTED_BYTES, 1);
  }
}

/** Creates and grows the file, in the primary. */
export class SharedMemory implements CellMemory {
  readonly descriptor: number;
  readonly base: EpochMs;
  private readonly workers: number;
  private size: number;
  private current: SharedView;

  /**
   * @param folder a fallback if the system's folders have no room for the file
   * @throws StartError if no folder has room
   */
  constructor(workers: number, folder: string, base: EpochMs) {
    this.workers = workers;
    this.base = base;
    this.size = bytesFor(workers, 0);
    this.descriptor = openFilled([...FOLDERS, folder], this.size);
    this.current = new SharedView(this.descriptor, workers, base);
  }

  get view(): SharedView {
    return this.current;
  }

  get cells(): LimitCells {
    return this.current.cells;
  }

  /** Makes room for this number of cells. @throws Error if the file system has no room for them */
  reserve(count: number): void {
    const wanted = bytesFor(this.workers, count);
    if (wanted <= this.size) return;
    fill(this.descriptor, this.size, wanted);
    this.current = new SharedView(this.descriptor, this.workers, this.base);
    this.size = wanted; // set last, so that a failed mapping is retried
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

function openFilled(folders: readonly string[], bytes: number): number {
  try {
    return inFolder(folders, (folder) => {
      const descriptor = openNameless(folder);
      try {
        fill(descriptor, 0, bytes);
      } catch (error) {
        closeSync(descriptor);
        throw error;
      }
      return descriptor;
    });
  } catch (error) {
    throw new StartError(
      "SHARED_MEMORY",
      `cannot create shared memory for the workers: ${messageOf(error)}`,
      "free space in /dev/shm or the folder for temporary files, or set INKLING_WORKERS to 1",
    );
  }
}

function openNameless(folder: string): number {
  const path = join(folder, `inkling-${process.pid}-${crypto.randomUUID()}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}

function fill(descriptor: number, from: number, to: number): void {
  const zeroes = new Uint8Array(Math.min(CHUNK_BYTES, to - from));
  for (let at = from; at < to; ) at += writeSync(descriptor, zeroes, 0, Math.min(zeroes.length, to - at), at);
}
