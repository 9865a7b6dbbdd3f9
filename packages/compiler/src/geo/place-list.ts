// place-list.ts: the interface of a source of geolocation or of registered countries.

import type { RangeColumns } from "@inkling/engine";
import type { IdVisitor } from "../mmdb/records.ts";
import type { Place } from "../place/place.ts";

/** Networks in address order, each with the number of what is known about it. */
export interface NetworkWalk {
  walk(family: 4 | 6, visit: IdVisitor): void;
  /** How many networks there are of each family, where that is known. */
  readonly networks?: { readonly 4: number; readonly 6: number };
}

/** Places by number: an array, or a list that decodes each on access. */
export interface PlaceList {
  readonly length: number;
  at(id: number): Place | undefined;
}

export interface PlaceSource extends NetworkWalk {
  readonly places: PlaceList;
  /** Of a source that is made of several: which of them a place is from, counted from 0. */
  readonly feedOf?: (id: number) => number;
  /** Of a source that is made of several, instead of walk: ids from 1, 0 where no place is known. */
  readonly cover?: (family: 4 | 6) => RangeColumns;
}

/** Which country each network is registered in; an id is an index into `countries`. */
export interface RegisteredCountries extends NetworkWalk {
  readonly countries: readonly string[];
}
