// key-broadcaster.ts: assigns a cell to each active key, and keeps the active keys for the processes that answer
// requests.
//
// in   snapshots of keys; the latest snapshot that every process has applied
// out  `current`; usage from the cells to the recorder; usage from other hosts to the cells' quotas
// err  take throws if there is too little memory for the keys. New keys then have no cell, so their requests are
//      refused, but the rest of the snapshot applies.

import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import type { KeySnapshot } from "@inkling/store/keys/keyring";
import { CellAllocator } from "../limits/cell-allocator.ts";
import type { CellMemory } from "../limits/cell-memory.ts";
import type { CellIndex } from "../limits/cells.ts";
import { type StoredUsage, UsageCollector, type UsageSink } from "../limits/usage-collector.ts";

const MIN_CELLS = 1024;

interface KeyAssignment {
  /** Increases with each snapshot. */
  readonly change: number;
  /** Undefined until keys have been read for the first time. */
  readonly snapshot: KeySnapshot | undefined;
  readonly cells: ReadonlyMap<KeyId, CellIndex>;
  /** Whether the snapshot's delta leads from the previous change to this one. */
  readonly isDelta: boolean;
}

export class KeyBroadcaster {
  private readonly memory: CellMemory;
  private readonly allocator = new CellAllocator();
  private readonly collector = new UsageCollector();
  private snapshot: KeySnapshot | undefined;
  private change = 0;
  private isDelta = false;
  /** Why the last snapshot's new keys have no cells. */
  private fault: unknown;
  /** Called before a removed key's cell is reused. */
  onFree: ((keyId: KeyId) => void) | undefined;

  constructor(memory: CellMemory) {
    this.memory = memory;
  }

  get current(): KeyAssignment {
    const { change, snapshot, allocator, isDelta } = this;
    return { change, snapshot, cells: allocator.cells, isDelta };
  }

  take(snapshot: KeySnapshot): void {
    const { allocator, collector, memory } = this;
    const { delta } = snapshot;
    const isDelta = delta !== undefined && delta.from === this.snapshot?.stamp && this.fault === undefined;
    const keyIds = new Set((isDelta ? delta : snapshot).tokens.map(({ key }) => key.id));
    const added = [...keyIds].filter((keyId) => !allocator.cells.has(keyId));
    this.fault = undefined;
    try {
      memory.reserve(Math.max(MIN_CELLS, 2 ** Math.ceil(Math.log2(allocator.size + added.length + 1))));
    } catch (error) {
      this.fault = error;
      for (const keyId of added) keyIds.delete(keyId);
    }
    this.change++;
    if (isDelta)
      allocator.remove(
        [...delta.keyIds].filter((keyId) => !keyIds.has(keyId)),
        this.change,
      );
    // every key has a cell after this
    for (const keyId of isDelta ? allocator.add(keyIds) : allocator.assign(keyIds, this.change))
      collector.add(keyId, allocator.cells.get(keyId)!);
    this.snapshot = snapshot;
    this.isDelta = isDelta;
    if (this.fault !== undefined) throw this.fault;
  }

  /** Frees the cells of keys that were removed by `change` or earlier. No process uses those keys any more. */
  settle(change: number, sink: UsageSink, now: EpochMs): void {
    const { cells } = this.memory;
    this.allocator.settle(change, (keyId, cell) => {
      this.collector.remove(keyId, cells, sink, now);
      this.onFree?.(keyId);
      cells.clear(cell);
    });
  }

  /** Records what the cells counted since the last call. */
  collect(sink: UsageSink, now: EpochMs): void {
    this.collector.collect(this.memory.cells, sink, now);
  }

  /** Returns the keys that were used since the last call. */
  takeUsed(): ReadonlySet<KeyId> {
    return this.collector.takeUsed(this.memory.cells);
  }

  /**
   * Subtracts what other hosts used from a key's quota. If the clock was ahead, today's quota continues with today's
   * counts from the store.
   */
  takeForeign(keyId: KeyId, usage: StoredUsage, now: EpochMs): void {
    this.collector.correctDay(keyId, usage.stored, this.memory.cells, now);
    this.collector.takeForeign(keyId, usage, this.memory.cells);
  }

  /** Subtracts from a key's quota at least what the store has. */
  takeStored(keyId: KeyId, stored: number, now: EpochMs): void {
    this.collector.takeStored(keyId, stored, this.memory.cells, now);
  }
}
