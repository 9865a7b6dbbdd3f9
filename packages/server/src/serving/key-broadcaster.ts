// key-broadcaster.ts: gives each active key a cell, and holds the keys for the processes that answer.
//
// in   snapshots of keys; which of them every process has applied
// out  `current`; usage from the cells to the recorder, and quotas used on other hosts to the cells
// err  take throws when there is no memory for so many keys: new ones have no cell, so they get nothing; all else is done

import type { EpochMs, KeyId } from "../keys/key.ts";
import type { KeySnapshot } from "../keys/keyring.ts";
import { CellAllocator } from "../limits/cell-allocator.ts";
import type { CellMemory } from "../limits/cell-memory.ts";
import type { CellIndex } from "../limits/cells.ts";
import { type StoredUsage, UsageCollector, type UsageSink } from "../limits/usage-collector.ts";

const MIN_CELLS = 1024;

interface KeyAssignment {
  /** Grows with each snapshot. */
  readonly change: number;
  /** Undefined while keys were never read. */
  readonly snapshot: KeySnapshot | undefined;
  readonly cells: ReadonlyMap<KeyId, CellIndex>;
}

export class KeyBroadcaster {
  private readonly memory: CellMemory;
  private readonly allocator = new CellAllocator();
  private readonly collector = new UsageCollector();
  private snapshot: KeySnapshot | undefined;
  private change = 0;

  constructor(memory: CellMemory) {
    this.memory = memory;
  }

  get current(): KeyAssignment {
    const { change, snapshot, allocator } = this;
    return { change, snapshot, cells: allocator.cells };
  }

  take(snapshot: KeySnapshot): void {
    const { allocator, collector, memory } = this;
    const keyIds = new Set(snapshot.tokens.map(({ key }) => key.id));
    const added = [...keyIds].filter((keyId) => !allocator.cells.has(keyId));
    let fault: unknown;
    try {
      memory.reserve(Math.max(MIN_CELLS, 2 ** Math.ceil(Math.log2(allocator.size + added.length + 1))));
    } catch (error) {
      fault = error;
      for (const keyId of added) keyIds.delete(keyId);
    }
    this.change++;
    // assign gives each a cell
    for (const keyId of allocator.assign(keyIds, this.change))
      collector.add(keyId, allocator.cells.get(keyId)!);
    this.snapshot = snapshot;
    if (fault !== undefined) throw fault;
  }

  /** No process uses keys any more that were gone before `change`: their cells are free. */
  settle(change: number, sink: UsageSink, now: EpochMs): void {
    const { cells } = this.memory;
    this.allocator.settle(change, (keyId, cell) => {
      this.collector.remove(keyId, cells, sink, now);
      cells.clear(cell);
    });
  }

  /** Records what was counted since the last time. */
  collect(sink: UsageSink, now: EpochMs): void {
    this.collector.collect(this.memory.cells, sink, now);
  }

  /** Ends the day of a clock that was ahead: today's quotas continue with what the store has of today. */
  correctDays(now: EpochMs, stored: ReadonlyMap<KeyId, number>): void {
    this.collector.correctDays(this.memory.cells, now, stored);
  }

  /** Takes from a key's quota what other hosts used of it. */
  takeForeign(keyId: KeyId, usage: StoredUsage): void {
    this.collector.takeForeign(keyId, usage, this.memory.cells);
  }
}
