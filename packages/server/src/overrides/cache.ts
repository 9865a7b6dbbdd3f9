// cache.ts: the overrides in force, in memory.
//
// in   the store, checked twice a second; the data folder's copy, for a start while the store is unreachable or empty
// out  `current`: an immutable snapshot, swapped when anything changed; `state` for metrics, status and logs
// err  none: a store that is unreachable, or empty in the place of one that was not, leaves the overrides as they were; a
//      copy that cannot be read or written is an event
// cost one row read each half second and process

import { join } from "node:path";
import { type Override, Overrides } from "@inkling/engine";
import { DATA_FOLDER } from "@inkling/release-store";
import { EmptyDatabaseError, isEmptyStamp, SnapshotFile } from "../keys/snapshot-file.ts";
import { RepeatedCheck } from "../retry/repeated-check.ts";
import { readSnapshot, snapshotText } from "./file.ts";
import { overridesOf } from "./record.ts";

/** A change counts within a second: half of it is the wait, the rest is for reading. */
const REFRESH_MS = 500;
/** Everything is read again after this long, so that rows changed by hand count too. */
const FULL_RELOAD_MS = 60_000;

export interface LoadedOverrides {
  /** Changes whenever any override does. */
  readonly stamp: string;
  /** Those that were not removed; some may have expired. */
  readonly overrides: readonly Override[];
}

interface OverrideSource {
  readStamp(): Promise<string>;
  load(): Promise<LoadedOverrides>;
}

export type OverrideEvent =
  /** Other overrides are in force now. */
  | {
      readonly type: "loaded";
      readonly overrides: number;
      readonly from: "database" | "data folder";
      /** Of the data folder's copy. */
      readonly age_seconds?: number;
    }
  /** The database never had an override, and these are known: they stay in force, and the copy is kept. */
  | { readonly type: "database-empty"; readonly overrides_in_copy: number }
  /** The copy cannot be read or written. */
  | { readonly type: "copy-failed"; readonly reason: string };

interface OverrideCacheOptions {
  readonly store: OverrideSource;
  readonly dataDir: string;
  /** Epoch ms. */
  readonly now?: () => number;
  readonly refreshMs?: number;
  readonly onEvent?: (event: OverrideEvent) => void;
  /** Runs before what the store holds now is put in force: has it gone back to an earlier state? */
  readonly review?: () => Promise<void>;
}

interface OverrideCacheState {
  /** Number of overrides in force, those that expired since the last change included. */
  readonly overrides: number;
  /** Where they came from; undefined when neither database nor copy could be read. */
  readonly from: "database" | "data folder" | undefined;
  /** Epoch ms of the last successful check with the store. */
  readonly checkedAt: number | undefined;
  /** Failed checks since the last successful one. */
  readonly failures: number;
}

export class OverrideCache {
  /** Read it once for each request. */
  current: Overrides = Overrides.NONE;

  private readonly options: OverrideCacheOptions;
  private readonly now: () => number;
  private stamp: string | undefined;
  private loadedAt = 0;
  private from: OverrideCacheState["from"];
  private checkedAt: number | undefined;
  private failures = 0;
  private isEmpty = false;
  private readonly copy: SnapshotFile<LoadedOverrides>;
  private readonly checks: RepeatedCheck;

  constructor(options: OverrideCacheOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
    this.checks = new RepeatedCheck({
      check: () => this.check(),
      waitMs: () => options.refreshMs ?? REFRESH_MS,
    });
    this.copy = new SnapshotFile({
      path: join(options.dataDir, DATA_FOLDER.overrides),
      now: this.now,
      onFailure: (reason) => options.onEvent?.({ type: "copy-failed", reason }),
      parse: readSnapshot,
      print: snapshotText,
      idsOf: ({ overrides }) => overrides.map(({ id }) => id),
    });
  }

  /** Takes what the data folder has, then what the store has, and goes on checking. Never rejects. */
  async start(): Promise<void> {
    this.readCopy();
    await this.refresh();
    this.checks.schedule();
  }

  /** Checks the store now, after a check that is under way. Never rejects: see `state`. */
  refresh(): Promise<void> {
    return this.checks.now();
  }

  /** Stops checking; what is in memory stays in use. */
  stop(): Promise<void> {
    return this.checks.stop();
  }

  get state(): OverrideCacheState {
    const { from, checkedAt, failures } = this;
    return { overrides: this.current.all.length, from, checkedAt, failures };
  }

  private async check(): Promise<void> {
    const { store, review } = this.options;
    try {
      const age = this.now() - this.loadedAt;
      const isFresh = this.from === "database" && age >= 0 && age < FULL_RELOAD_MS; // the clock may have been set back
      if (!isFresh || (await store.readStamp()) !== this.stamp) {
        const loaded = await store.load();
        this.refuseEmpty(loaded);
        await review?.();
        this.isEmpty = false;
        this.replace(loaded);
      }
      this.failures = 0;
      this.checkedAt = this.now();
      this.isEmpty = false;
    } catch (error) {
      this.failures++; // the key loader reports that the database is unreachable
      if (error instanceof EmptyDatabaseError) this.reportEmpty(error);
      return;
    }
    const { stamp, current } = this;
    this.copy.save({ stamp: stamp!, overrides: current.all });
  }

  /** @throws EmptyDatabaseError where overrides are in force that the store never had */
  private refuseEmpty(loaded: LoadedOverrides): void {
    if (isEmptyStamp(loaded.stamp) && this.stamp !== undefined && !isEmptyStamp(this.stamp)) {
      const now = this.now();
      const known = this.current.all.filter(({ expiresAt = Infinity }) => expiresAt > now).length;
      if (known > 0) throw new EmptyDatabaseError(known, "an override");
    }
  }

  private replace(loaded: LoadedOverrides): void {
    const isNew = this.stamp !== loaded.stamp || this.current.all.length !== loaded.overrides.length;
    this.current = overridesOf(loaded.overrides);
    this.stamp = loaded.stamp;
    this.loadedAt = this.now();
    this.from = "database";
    if (!isNew) return;
    this.options.onEvent?.({ type: "loaded", overrides: loaded.overrides.length, from: "database" });
  }

  private reportEmpty({ known }: EmptyDatabaseError): void {
    this.copy.keep();
    const wasEmpty = this.isEmpty;
    this.isEmpty = true;
    if (!wasEmpty) this.options.onEvent?.({ type: "database-empty", overrides_in_copy: known });
  }

  /** How many overrides are in force that the store, which is empty, does not hold. */
  get overridesOnlyHere(): number {
    return this.isEmpty ? this.current.all.length : 0;
  }

  private readCopy(): void {
    const copy = this.copy.read();
    if (copy === undefined) return;
    const { stamp, overrides } = copy.value;
    this.current = overridesOf(overrides);
    this.stamp = stamp;
    this.from = "data folder";
    const age_seconds = Math.round(copy.ageMs / 1000);
    this.options.onEvent?.({ type: "loaded", overrides: overrides.length, from: this.from, age_seconds });
  }
}
