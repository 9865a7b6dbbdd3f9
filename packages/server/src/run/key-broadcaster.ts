// key-broadcaster.ts: assigns a cell to each active key, and tells the processes that answer requests which keys have
// changed.
//
// If there is too little memory, new keys have no cell, so their requests are refused; the rest of the update applies.

import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import { idsOf, type KeyTable, type KeyUpdate } from "@inkling/store/keys/key-table";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { CellMemory } from "../limits/cell-memory.ts";
import type { CellIndex } from "../limits/cells.ts";
import { type StoredUsage, UsageCollector, type UsageSink } from "../limits/usage-collector.ts";

const MIN_CELLS = 1024;

export interface UpdateWithCells extends KeyUpdate {
  readonly cells: ReadonlyMap<KeyId, CellIndex | undefined>;
}

export class KeyBroadcaster {
  /** Increases with each update. */
  change = 0;
  private readonly memory: CellMemory;
  private readonly keyring: Keyring;
  private readonly collector = new UsageCollector();
  private readonly free: CellIndex[] = [];
  private next = 0;
  /** The cells of removed keys, which a process may still use, and the change that removed them. */
  private readonly leaving = new Map<KeyId, { readonly cell: CellIndex; readonly change: number }>();
  /** What led from the previous change to this one; undefined if all keys may have changed. */
  private update: KeyUpdate | undefined;
  /** Why the last update's new keys have no cells. */
  private fault: unknown;
  /** Called before a removed key's cell is reused. */
  onFree: ((keyId: KeyId) => void) | undefined;

  constructor(memory: CellMemory, keyring: Keyring) {
    this.memory = memory;
    this.keyring = keyring;
  }

  /** Returns what a process needs that has the keys of an earlier change: nothing, an update, or all keys. */
  since(change: number): { readonly table?: KeyTable; readonly update?: UpdateWithCells } {
    const { update, keyring } = this;
    if (change === this.change) return {};
    if (change !== this.change - 1 || update === undefined) return { table: keyring.table };
    const cells = Array.from(idsOf(update.lines), (keyId) => [keyId, keyring.table.cellOf(keyId)] as const);
    return { update: { ...update, cells: new Map(cells) } };
  }

  /** Activates an update in the keyring. @returns why there is too little memory for new keys; undefined if there is enough */
  take(update: KeyUpdate): unknown {
    const { keyring, fault } = this;
    const { table: before } = keyring;
    const isWhole = update.from === undefined;
    const known = Array.from(isWhole ? before.ids() : idsOf(update.lines), (keyId) => {
      return { keyId, cell: before.cellOf(keyId) };
    });
    this.fault = undefined;
    keyring.replace(update, (keyId) => (isWhole ? before.cellOf(keyId) : undefined) ?? this.cellFor(keyId));
    this.change++;
    this.update = isWhole || fault !== undefined ? undefined : update;
    const { table } = keyring;
    for (const { keyId, cell } of known)
      if (cell !== undefined && !table.has(keyId)) this.leaving.set(keyId, { cell, change: this.change });
    for (const keyId of fault === undefined ? [] : table.ids()) {
      const cell = table.cellOf(keyId) === undefined ? this.cellFor(keyId) : undefined;
      if (cell !== undefined) keyring.setCell(keyId, cell);
    }
    return this.fault;
  }

  private cellFor(keyId: KeyId): CellIndex | undefined {
    const back = this.leaving.get(keyId);
    if (back !== undefined) {
      this.leaving.delete(keyId); // its earlier usage still counts
      return back.cell;
    }
    const { memory, free } = this;
    if (this.fault === undefined && free.length === 0 && this.next >= memory.cells.size) {
      try {
        memory.reserve(Math.max(MIN_CELLS, 2 * memory.cells.size));
      } catch (error) {
        this.fault = error;
      }
    }
    if (free.length === 0 && this.next >= memory.cells.size) return undefined;
    const cell = free.pop() ?? this.next++;
    this.collector.add(keyId, cell);
    return cell;
  }

  /** Frees the cells of keys that were removed by `change` or earlier. No process uses those keys any more. */
  settle(change: number, sink: UsageSink, now: EpochMs): void {
    const { cells } = this.memory;
    for (const [keyId, { cell, change: removedBy }] of this.leaving) {
      if (removedBy > change) continue;
      this.leaving.delete(keyId);
      this.collector.remove(cell, cells, sink, now);
      this.onFree?.(keyId);
      cells.clear(cell);
      this.free.push(cell);
    }
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
    const cell = this.keyring.table.cellOf(keyId);
    if (cell === undefined) return;
    this.collector.correctDay(cell, usage.stored, this.memory.cells, now);
    this.collector.takeForeign(cell, usage, this.memory.cells);
  }

  /** Subtracts from a key's quota at least what the store has. */
  takeStored(keyId: KeyId, stored: number, now: EpochMs): void {
    const cell = this.keyring.table.cellOf(keyId);
    if (cell !== undefined) this.collector.takeStored(cell, stored, this.memory.cells, now);
  }
}
