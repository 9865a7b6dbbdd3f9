// shared-memory.ts: memory that the supervisor and its workers share: limits, counts, open connections.
//
// in   the supervisor: the number of workers; a worker: the descriptor that it inherited
// out  views of the same pages in every process
// err  StartError where no file of that size can be made
//
// The file has no name: it is unlinked as soon as it is open, and workers inherit the descriptor. So none is left
// behind by any kind of crash, and none of an earlier run can count. It lies in memory (/dev/shm) where there is such
// a folder: on a disk each page that is written would be brought there every few seconds, and the next write to it would
// wait. It is written full with zeroes, because a page that the file system has no room for would kill whoever touches it.
//
//   bytes      for each worker: its counts (Counts), then one line for its open connections; then a cell for each key

import { closeSync, writeSync } from "node:fs";
import { API_COUNTS, type ApiCounts, makeCounts } from "../api/counts.ts";
import { StartError } from "../http/start-error.ts";
import { CELL_BYTES, LimitCells } from "../limits/cells.ts";
import { countsBytes } from "../telemetry/counts.ts";
import { openNamelessFile, SHARED_FOLDERS } from "./anonymous-file.ts";

/** The descriptor of the shared memory in a worker. */
export const WORKER_DESCRIPTOR = 3;
const LINE_BYTES = 64;
const COUNTS_BYTES = Math.ceil(countsBytes(API_COUNTS) / LINE_BYTES) * LINE_BYTES;
const WORKER_BYTES = COUNTS_BYTES + LINE_BYTES;
const CHUNK_BYTES = 1 << 20;

/** What both sides have to agree on; another version of the code may lay it out in another way. */
export const LAYOUT = `2 ${WORKER_BYTES} ${CELL_BYTES}`;

export const bytesFor = (workers: number, cells: number) => workers * WORKER_BYTES + cells * CELL_BYTES;

/** The shared memory as one process sees it. */
export class SharedView {
  readonly bytes: number;
  readonly cells: LimitCells;
  private readonly memory: Uint8Array<ArrayBuffer>;
  private readonly workers: number;

  /** @param base epoch ms, the same in every process */
  constructor(descriptor: number, workers: number, base: number) {
    this.memory = map(descriptor);
    this.bytes = this.memory.byteLength;
    this.workers = workers;
    this.cells = new LimitCells(this.memory.subarray(workers * WORKER_BYTES), base);
  }

  /** What a worker counts: what its predecessor in the same place counted is in there. */
  countsOf(worker: number): ApiCounts {
    return makeCounts(this.memory.subarray(worker * WORKER_BYTES, worker * WORKER_BYTES + COUNTS_BYTES));
  }

  /** Says how many connections a worker has open. @returns how many all workers have */
  putConnections(worker: number, open: number): number {
    Atomics.store(this.connectionsOf(worker), 0, open);
    let sum = 0;
    for (let i = 0; i < this.workers; i++) sum += Atomics.load(this.connectionsOf(i), 0);
    return sum;
  }

  private connectionsOf(worker: number): Int32Array {
    const { buffer, byteOffset } = this.memory;
    return new Int32Array(buffer, byteOffset + worker * WORKER_BYTES + COUNTS_BYTES, 1);
  }
}

/** In the supervisor: the file itself. */
export class SharedMemory {
  readonly descriptor: number;
  readonly workers: number;
  readonly base: number;
  private size = 0;
  private seen: SharedView | undefined;

  /**
   * @param folder where else it may lie when there is no room in the system's
   * @param now epoch ms
   * @param made the descriptor of an empty file without a name, where there is one already; it may be of no use
   * @throws StartError
   */
  constructor(workers: number, folder: string, now: number, made?: number) {
    this.workers = workers;
    this.base = now;
    this.descriptor = openFilled(folder, bytesFor(workers, 0), made);
    this.size = bytesFor(workers, 0);
  }

  /** The memory as it is now. */
  get view(): SharedView {
    this.seen ??= new SharedView(this.descriptor, this.workers, this.base);
    return this.seen;
  }

  /**
   * Sees to it that there are so many cells. Those that there are stay as they are.
   * @throws when the file system has no room for them
   */
  reserve(cells: number): void {
    const wanted = bytesFor(this.workers, cells);
    if (wanted <= this.size) return;
    fill(this.descriptor, this.size, wanted);
    this.size = wanted;
    this.seen = undefined;
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

function openFilled(folder: string, bytes: number, made: number | undefined): number {
  const reasons: string[] = [];
  const ways = [...SHARED_FOLDERS, folder].map((place) => () => openNamelessFile(place));
  if (made !== undefined) ways.unshift(() => made);
  for (const open of ways) {
    let descriptor: number | undefined;
    try {
      descriptor = open();
      fill(descriptor, 0, bytes);
      return descriptor;
    } catch (error) {
      if (descriptor !== undefined && descriptor !== made) closeSync(descriptor);
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new StartError(
    "SHARED_MEMORY",
    `cannot make memory for several workers: ${reasons.join("; ")}`,
    "make room in /dev/shm or the folder of temporary files, or set INKLING_WORKERS to 1",
  );
}

function fill(descriptor: number, from: number, to: number): void {
  const zeroes = new Uint8Array(Math.min(CHUNK_BYTES, to - from));
  for (let at = from; at < to; ) at += writeSync(descriptor, zeroes, 0, Math.min(zeroes.length, to - at), at);
}

function map(descriptor: number): Uint8Array<ArrayBuffer> {
  const folder = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  return Bun.mmap(`${folder}/${descriptor}`, { shared: true }) as Uint8Array<ArrayBuffer>;
}
