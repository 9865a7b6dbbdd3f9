// compiler.ts: exports everything that measurements use from inside the compiler. Only this file imports the compiler.

export type {
  DomainClaims,
  DomainSubject,
  KindClaims,
  NetworkClaims,
} from "../../packages/compiler/src/catalog/claims.ts";
export { FEEDS } from "../../packages/compiler/src/catalog/feeds.ts";
export { plausible } from "../../packages/compiler/src/geo/harvested.ts";
export { type OperatorFeed, OperatorPlaces } from "../../packages/compiler/src/geo/operator-places.ts";
export type { PlaceSource } from "../../packages/compiler/src/geo/place-source.ts";
export { type GeoSource, openCountries, openPlaces } from "../../packages/compiler/src/geo/place-source.ts";
export { readPlace } from "../../packages/compiler/src/geo/read-place.ts";
export { Mmdb } from "../../packages/compiler/src/mmdb/mmdb.ts";
export { MmdbRecords } from "../../packages/compiler/src/mmdb/records.ts";
export { vpnNetworks } from "../../packages/compiler/src/network/vpn-networks.ts";
export { type AsnNetworks, networksOfSystems, readAsnCsv } from "../../packages/compiler/src/parse/asn.ts";
export { parseGeofeed } from "../../packages/compiler/src/parse/geofeed.ts";
export {
  isDomainFormat,
  parseDomains,
  parseNetworks,
  type StatedPlaces,
} from "../../packages/compiler/src/parse/index.ts";
export { isSpecialUse } from "../../packages/compiler/src/parse/network-list.ts";
export { parseOperatorSystems } from "../../packages/compiler/src/parse/own-lists.ts";
export { isSystemFormat, parseSystemKinds } from "../../packages/compiler/src/parse/system-kinds.ts";
export { completePlace } from "../../packages/compiler/src/place/complete-place.ts";
export { encodePlace } from "../../packages/compiler/src/place/encode-place.ts";
export type { Place } from "../../packages/compiler/src/place/place.ts";
export { distanceKm, knownCoordinates } from "../../packages/compiler/src/place/place.ts";
export { weightOf } from "../../packages/compiler/src/policy/domain-weights.ts";
export { type DomainVerdicts, judgeDomains } from "../../packages/compiler/src/policy/email.ts";
export { geoTable } from "../../packages/compiler/src/segments/geo-table.ts";
export { segmentChunks } from "../../packages/compiler/src/segments/segment-writer.ts";
