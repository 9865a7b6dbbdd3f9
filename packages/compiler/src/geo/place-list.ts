// place-list.ts: the interface of a source of geolocation or of registered countries.

import type { RangeColumns } from "@inkling/engine";
import type { IdVisitor } from "../mmdb/records.ts";
import type { Place } from "../place/place.ts";

/** Networks in address order. Each has an id that refers to what is known about it. */
export interface NetworkWalk {
  walk(family: 4 | 6, visit: IdVisitor): void;
  /** Number of networks in each family, if known. */
  readonly networks?: { readonly 4: number; readonly 6: number };
}

/** Places by id: an array, or a list that decodes each place on access. */
export interface PlaceList {
  readonly length: number;
  at(id: number): Place | undefined;
}

export interface PlaceSource extends NetworkWalk {
  readonly places: PlaceList;
  /** Set for a source that combines several sources: returns the index of the source from which a place comes. */
  readonly feedOf?: (id: number) => number;
  /**
   * Set for a source that combines several sources, and used instead of walk: values are place ids plus 1, or 0 if no
   * place is known.
   */
  readonly cover?: (family: 4 | 6) => RangeColumns;
}

/** The country in which each network is registered. An id is an index into `countries`. */
export interface RegisteredCountries extends NetworkWalk {
  readonly countries: readonly string[];
}
