/** A value as its source had it. */
export interface Loaded<T> {
  /** Changes whenever the value does. */
  readonly version: string;
  readonly value: T;
}

/** Stamps of tables in which nothing was ever made, or that were emptied by hand. */
const EMPTY_STAMPS = ["new", ""];
export const isEmptyStamp = (stamp: string) => EMPTY_STAMPS.includes(stamp);
