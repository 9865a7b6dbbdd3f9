/** A value from its source. */
export interface Loaded<T> {
  /** The version, which changes whenever the value does. */
  readonly version: string;
  readonly value: T;
}

/** Stamps of tables that have never had a row, or that were emptied by hand. */
const EMPTY_STAMPS = ["new", ""];
export const isEmptyStamp = (stamp: string) => EMPTY_STAMPS.includes(stamp);
