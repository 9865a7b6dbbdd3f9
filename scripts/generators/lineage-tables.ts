// lineage-tables.ts: generates the tables in packages/compiler/domain-lists.md that show which lists share entries, and
// which lists copy which.

import { DOMAIN_SOURCES, shareOf } from "../../packages/compiler/src/catalog/domain-lineage.ts";
import { SHARED_ENTRIES } from "../../packages/compiler/src/catalog/shared-entries.ts";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const code = (id: string) => `\`${id}\``;
const percent = (list: string, other: string) => `${(100 * shareOf(list, other)).toFixed(1)}%`;

export function lineageTables(): readonly GeneratedSection[] {
  const page = (section: string, content: string) => ({
    path: "packages/compiler/domain-lists.md",
    section,
    content,
  });
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
  return [
    page(
      "shared entries",
      markdownTable(["list", "entries", ...lists.map((list) => `in ${code(list)}`), "on no other"], shares),
    ),
    page("sources", markdownTable(["list", "copies", "share of its entries", "why"], sources)),
  ];
}
