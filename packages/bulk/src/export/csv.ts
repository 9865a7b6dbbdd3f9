// csv.ts: exports a row for each network or domain as CSV, or the same with dictionaries for ClickHouse.
//
// src  RFC 4180; ClickHouse: CREATE DICTIONARY, layouts IP_TRIE and COMPLEX_KEY_HASHED

import { type Field, type IpTable, rowOf, type Value } from "../fields.ts";
import {
  about,
  columnsOf,
  type ExportFormat,
  heading,
  inPieces,
  networks,
  networkText,
  onceEach,
  type Piece,
  paused,
  type Request,
  rangesOf,
} from "./format.ts";

export const csv: ExportFormat = {
  name: "csv",
  what: "write a CSV file with one row per network or disposable domain, and a second file with the sources",
  lookups: ["geolocate", "reputation", "network", "email"],
  isFolder: false,
  hasColumns: true,
  *pieces(request) {
    yield* inPieces("", csvLines(request));
    yield attributionFile(request);
  },
};

export const clickhouse: ExportFormat = {
  name: "clickhouse",
  what: "write a folder with all tables as CSV, and SQL that creates IP_TRIE dictionaries from them",
  lookups: ["geolocate", "reputation", "network", "email"],
  isFolder: true,
  *pieces(request) {
    yield { file: "inkling.sql", data: clickhouseSql(request) };
    for (const lookup of ["reputation", "email", ...network(request), "geolocate"] as const) {
      yield* inPieces(`inkling_${lookup}.csv`, csvLines({ ...request, lookup }, UNKNOWN_NUMBER));
    }
  },
};

/** Returns the network table, unless the release is too old to have one. */
const network = ({ source }: Request) => (source.release.network === undefined ? [] : ["network" as const]);

/**
 * IP_TRIE does not support Nullable columns. It reads an empty field as 0, which would be a position in the sea, so
 * unknown numbers are written as "not a number".
 */
const UNKNOWN_NUMBER = "nan";

/** Returns a second file with the attributions, for formats without comments. */
function attributionFile(request: Request): Piece {
  return {
    file: ".attribution.txt",
    data: about(request)
      .map((line) => `${line}\n`)
      .join(""),
  };
}

/** Formats a field, with quotes only if it needs them. */
export function csvField(value: Value, delimiter = ","): string {
  if (value === undefined) return "";
  const text = String(value);
  return /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvLine = (values: readonly Value[]) => `${values.map((value) => csvField(value)).join(",")}\n`;

/** @param unknown written for an unknown number */
function csvLines(request: Request, unknown: Value = undefined): Iterable<string> {
  return request.lookup === "email" ? domainLines(request) : networkLines(request, request.lookup, unknown);
}

function* domainLines({ source }: Request): Generator<string> {
  yield csvLine(["domain", "providers"]);
  for (const { domain, providers } of source.domains()) yield csvLine([domain, providers.join(" ")]);
}

function* networkLines(request: Request, lookup: IpTable, unknown: Value): Generator<string> {
  const { columns: fields = columnsOf(lookup) } = request;
  const ranges = yield* paused(rangesOf(request, lookup), "");
  const ifUnknown = fields.map(({ type }) => (type === "number" || type === "integer" ? unknown : undefined));
  const rest = onceEach(ranges.answers, (answer) =>
    csvLine(rowOf(answer, fields).map((value, i) => value ?? ifUnknown[i])),
  );
  yield csvLine(["network", ...fields.map(({ name }) => name)]);
  for (const network of networks(ranges)) yield `${networkText(network)},${rest(network.value)}`;
}

const CLICKHOUSE_TYPES: Readonly<Record<Field["type"], string>> = {
  text: "String DEFAULT ''",
  number: "Float64 DEFAULT nan",
  integer: "Float32 DEFAULT nan", // exact for every radius
  uint32: "UInt32 DEFAULT 0", // an empty field reads as 0, which is not the number of any system
  boolean: "Bool DEFAULT false",
};

function clickhouseSql(request: Request): string {
  const source = (name: string) =>
    `SOURCE(FILE(PATH '/var/lib/clickhouse/user_files/${name}.csv' FORMAT 'CSVWithNames'))`;
  const ipDictionary = (lookup: IpTable) => `CREATE OR REPLACE DICTIONARY inkling_${lookup}
(
    network String,
${columnsOf(lookup)
  .map(({ name, type }) => `    ${name} ${CLICKHOUSE_TYPES[type]}`)
  .join(",\n")}
)
PRIMARY KEY network
${source(`inkling_${lookup}`)}
LAYOUT(IP_TRIE)
LIFETIME(0);
`;
  const withNetwork = network(request).length > 0;
  const places = withNetwork ? "four" : "three";
  return `${heading(request, "--")}--
-- Put the CSV files into the server's folder for user files (${places} times below), then run this file.
-- Every column is kept in memory: remove the columns that you do not need. The next export overwrites this
-- file, so edit a copy. Unknown values are '' or nan.
-- IPv6StringToNumOrDefault accepts IPv4 and IPv6 addresses. Other text becomes ::, which has no row:
--
--   SELECT ip,
--          dictGet('inkling_geolocate', 'country_iso_code', tuple(IPv6StringToNumOrDefault(ip))) AS country,
--          dictGet('inkling_reputation', 'is_tor_exit', tuple(IPv6StringToNumOrDefault(ip))) AS is_tor_exit,${
    withNetwork
      ? `
--          dictGet('inkling_network', 'network_kind', tuple(IPv6StringToNumOrDefault(ip))) AS network_kind,`
      : ""
  }
--          dictHas('inkling_email', tuple(mail_domain)) AS disposable
--   FROM visits;
--
-- After a new export: SYSTEM RELOAD DICTIONARIES;

${ipDictionary("geolocate")}
${ipDictionary("reputation")}
${network(request)
  .map((table) => `${ipDictionary(table)}\n`)
  .join("")}CREATE OR REPLACE DICTIONARY inkling_email
(
    domain String,
    providers String
)
PRIMARY KEY domain
${source("inkling_email")}
LAYOUT(COMPLEX_KEY_HASHED())
LIFETIME(0);
`;
}
