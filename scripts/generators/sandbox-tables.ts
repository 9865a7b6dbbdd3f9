// sandbox-tables.ts: generates the tables of docs/sandbox.md.

import {
  PROBLEMS,
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_PROBLEMS,
} from "@inkling/contract";
import { sandboxDecisions } from "../../packages/server/src/api/openapi-examples.ts";
import { code, type GeneratedSection, markdownTable } from "./generated.ts";

export function sandboxTables(): readonly GeneratedSection[] {
  const tables = {
    addresses: markdownTable(
      ["address", "or", "stands for", "geolocate", "reputation"],
      SANDBOX_ADDRESSES.map(({ v4, v6, meaning, geolocation, flags }) => [
        code(v4),
        code(v6),
        meaning,
        geolocation === undefined
          ? "404 `IP_ADDRESS_NOT_FOUND`"
          : !("name" in geolocation.city)
            ? "countries"
            : "full",
        flags === undefined ? "all `false`" : flags.map(code).join(", "),
      ]),
    ),
    domains: markdownTable(
      ["domain", "stands for", "valid", "disposable", "providers"],
      SANDBOX_DOMAINS.map(({ domain, meaning, valid, providers }) => [
        code(domain),
        meaning,
        code(String(valid)),
        code(String(providers.length > 0)),
        code(JSON.stringify(providers)),
      ]),
    ),
    checks: markdownTable(
      ["domain", "stands for", "valid", "disposable", "providers", "checks.mx"],
      SANDBOX_CHECKS.map(({ domain, meaning, mx, valid, providers }) => [
        code(domain),
        meaning,
        code(String(valid)),
        code(String(providers.length > 0)),
        code(JSON.stringify(providers)),
        code(mx),
      ]),
    ),
    visitors: markdownTable(
      ["visitor, in addition to `event`", "action", "score", "reasons"],
      sandboxDecisions().map(({ visitor: { event: _, ...visitor }, answer }) => [
        code(JSON.stringify(visitor)),
        code(answer.action),
        String(answer.score),
        answer.reasons.map((reason) => code(reason.code)).join(", "),
      ]),
    ),
    problems: markdownTable(
      ["status", "code", "address", "or", "domain"],
      SANDBOX_PROBLEMS.map((row) => [
        String(PROBLEMS[row.code].status),
        code(row.code),
        code(row.v4),
        code(row.v6),
        code(row.domain),
      ]),
    ),
  };
  return Object.entries(tables).map(([section, content]) => ({ path: "docs/sandbox.md", section, content }));
}
