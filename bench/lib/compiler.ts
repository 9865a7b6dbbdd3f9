// compiler.ts: everything of the compiler's inside that measurements use, imported in this file alone.

export { completePlace } from "../../packages/compiler/src/geo/complete-place.ts";
export { encodePlace } from "../../packages/compiler/src/geo/encode-place.ts";
export { geoTable, type PlaceSource } from "../../packages/compiler/src/geo-table.ts";
export { MmdbRecords } from "../../packages/compiler/src/mmdb-records.ts";
export type { Place } from "../../packages/compiler/src/place.ts";
export { CountrySource, GeoSource } from "../../packages/compiler/src/place-source.ts";
export { cover, RangeColumns } from "../../packages/compiler/src/range-columns.ts";
export { segmentChunks } from "../../packages/compiler/src/segment-writer.ts";
