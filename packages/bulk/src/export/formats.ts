// formats.ts: the export formats that the command line offers. To add a format, add a row here.

import { clickhouse, csv } from "./csv.ts";
import { haproxy, ipset, nftables, nginx } from "./filters.ts";
import type { ExportFormat } from "./format.ts";
import { mmdb } from "./mmdb.ts";
import { parquet } from "./parquet.ts";

export const FORMATS: readonly ExportFormat[] = [
  mmdb,
  csv,
  parquet,
  nginx,
  ipset,
  nftables,
  haproxy,
  clickhouse,
];
