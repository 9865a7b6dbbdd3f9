// assigned-cells.ts: assigns a cell to each active key, and reuses the cells of removed keys when no thread uses them
// any more.

import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import { idsOf, type KeyUpdate } from "@inkling/store/keys/key-table";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { CellIndex, LimitCells } from "../limits/cells.ts";
import type { GroupCounts } from "../limits/group-counts.ts";
import { UsageCollector, type UsageSink } from "../limits/usage-collector.ts";

export class AssignedCells {
  /** Increases with each update. */
  change = 0;
  private readonly cells: LimitCells;
  private readonly keyring: Keyring;
  private readonly collector = new UsageCollector();
  private readonly free: CellIndex[] = [];
  private next = 0;
  /** The cells of removed keys, which a thread may still use, and the change that removed them. */
  private readonly leaving = new Map<KeyId, { readonly cell: CellIndex; readonly change: number }>();
  /** The counts of a group of hosts, which forget a removed key before its cell is reused. */
  group: Pick<GroupCounts, "drop"> | undefined;

  constructor(cells: LimitCells, keyring: Keyring) {
    this.cells = cells;
    this.keyring = keyring;
  }

  /** Activates an update in the keyring. */
  take(update: KeyUpdate): void {
    const { keyring } = this;
    const { table: before } = keyring;
    const isWhole = update.from === undefined;
    const known = Array.from(isWhole ? before.ids() : idsOf(update.lines), (keyId) => {
      return { keyId, cell: before.cellOf(keyId) };
    });
    keyring.replace(update, (keyId) => (isWhole ? before.cellOf(keyId) : undefined) ?? this.cellFor(keyId));
    this.change++;
    for (const { keyId, cell } of known)
      if (cell !== undefined && !keyring.table.has(keyId))
        this.leaving.set(keyId, { cell, change: this.change });
  }

  private cellFor(keyId: KeyId): CellIndex {
    const back = this.leaving.get(keyId);
    if (back !== undefined) {
      this.leaving.delete(keyId); // its earlier usage still counts
      return back.cell;
    }
    const cell = this.free.pop() ?? this.next++;
    if (cell >= this.cells.size) this.cells.grow();
    this.collector.add(keyId, cell);
    return cell;
  }

  /** Frees the cells of keys that were removed by `change` or earlier. No thread uses those keys any more. */
  settle(change: number, sink: UsageSink, now: EpochMs): void {
    const { cells } = this;
    for (const [keyId, { cell, change: removedBy }] of this.leaving) {
      if (removedBy > change) continue;
      this.leaving.delete(keyId);
      this.collector.remove(cell, cells, sink, now);
      this.group?.drop(keyId);
      cells.clear(cell);
      this.free.push(cell);
    }
  }

  /** Records what the cells counted since the last call. */
  collect(sink: UsageSink, now: EpochMs): void {
    this.collector.collect(this.cells, sink, now);
  }

  /** Returns the keys that were used since the last call. */
  takeUsed(): ReadonlySet<KeyId> {
    return this.collector.takeUsed(this.cells);
  }

  /** Subtracts from a key's quota at least what the store has. */
  takeStored(keyId: KeyId, stored: number, now: EpochMs): void {
    const cell = this.keyring.table.cellOf(keyId);
    if (cell !== undefined) this.collector.takeStored(cell, stored, this.cells, now);
  }
}
