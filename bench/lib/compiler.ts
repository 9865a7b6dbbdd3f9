// compiler.ts: everything of the compiler's inside that measurements use, imported in this file alone.

export { completePlace } from "../../packages/compiler/src/geo/complete-place.ts";
export { encodePlace } from "../../packages/compiler/src/geo/encode-place.ts";
export type { Place } from "../../packages/compiler/src/geo/place.ts";
export type { PlaceSource } from "../../packages/compiler/src/geo/place-list.ts";
export { CountrySource, GeoSource } from "../../packages/compiler/src/geo/place-source.ts";
export { MmdbRecords } from "../../packages/compiler/src/mmdb/records.ts";
export { geoTable } from "../../packages/compiler/src/segments/geo-table.ts";
export { segmentChunks } from "../../packages/compiler/src/segments/segment-writer.ts";
