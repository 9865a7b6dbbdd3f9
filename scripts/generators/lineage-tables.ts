// lineage-tables.ts: generates the tables in packages/compiler/domain-lists.md that show which lists share entries, and
// which lists copy which.

import { DOMAIN_SOURCES, shareOf } from "../../packages/compiler/src/catalog/domain-lineage.ts";
import { SHARED_ENTRIES } from "../../packages/compiler/src/catalog/shared-entries.ts";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

const PAGE = "packages/compiler/domain-lists.md";

const percent = (list: string, other: string) => `${(100 * shareOf(list, other)).toFixed(1)}%`;

export function lineageTables(): readonly GeneratedSection[] {
  const own = SHARED_ENTRIES.filter(([list, other]) => list === other);
  const lists = own.map(([list]) => list);
  const shares = own.map(([list, , entries]) => [
    code(list),
    entries.toLocaleString("en"),
    ...[...lists, ""].map((other) => (other === list ? "" : percent(list, other))),
  ]);
  const sources = DOMAIN_SOURCES.toSorted((a, b) => lists.indexOf(a.list) - lists.indexOf(b.list)).map(
    ({ list, source, why = "derived from the share" }) => [
      code(list),
      code(source),
      percent(source, list),
      why,
    ],
  );
  const head = ["list", "entries", ...lists.map((list) => `in ${code(list)}`), "on no other"];
  return [
    tableOn(PAGE, "shared entries", head, shares),
    tableOn(PAGE, "sources", ["list", "copies", "share of its entries", "why"], sources),
  ];
}
