// @inkling/bulk: enriches files with a release's answers, and exports releases for other programs.

export { lastRowEndOfHead } from "./enrich/blocks.ts";
export { enrich, SMALL_BYTES } from "./enrich/enrich.ts";
export { type Tally, unparsable } from "./enrich/enricher.ts";
export { type EnrichOptions, type Plan, planFor } from "./enrich/plan.ts";
export { OwnThread, type Pool, Threads } from "./enrich/pool.ts";
export { FORMAT_NAMES } from "./enrich/rows.ts";
export type { Start } from "./enrich/worker.ts";
export { BulkError, Interrupted, unlessAborted } from "./errors.ts";
export { FORMATS, textOf, writeExport } from "./export/export.ts";
export { chosenColumns, type ExportFormat, type Request } from "./export/format.ts";
export { ExportSource } from "./export/source.ts";
export { FIELDS, TABLES, type Table } from "./fields.ts";
export { notWritten, PartialFile } from "./partial-file.ts";
