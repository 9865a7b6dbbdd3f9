// plan.ts: decides what is looked up in a file, and what is added to it.

import { REPUTATION_FLAGS } from "@inkling/contract";
import { didYouMean, FIELDS, type Field, namesMatching, perTable, TABLES, type Table } from "../fields.ts";
import {
  columnTitle,
  endingOf,
  type FileLayout,
  hasSeveralAddresses,
  type Layout,
  type LayoutOptions,
  layoutOf,
  namesText,
  namesThere,
  titleOf,
  usage,
} from "./layout.ts";

export type Plan = FileLayout & Additions;

interface Additions {
  /** Describes the format and its columns for people. */
  readonly title: string;
  /** Fields to add, by table, in output order. */
  readonly added: Readonly<Record<Table, readonly string[]>>;
  /** Describes what was detected in the file but is not looked up. */
  readonly leftOutTitle?: string | undefined;
  /** Describes other columns that the user may have meant, one text for each kind of address. */
  readonly othersTitles?: readonly string[] | undefined;
  /** Prefix of each added name. */
  readonly prefix: string;
  /** The name of the address column, for people. */
  readonly ipTitle?: string | undefined;
  /** The plan for the next column if several are named. It processes the output of this plan. */
  readonly next?: Plan | undefined;
}

export interface EnrichOptions extends Omit<LayoutOptions, "ipColumn"> {
  readonly ipColumn?: LayoutOptions["ipColumn"] | readonly string[];
  readonly add?: readonly string[] | undefined;
  /** Also add facts about each address's network. */
  readonly network?: boolean | undefined;
  readonly prefix?: string | undefined;
}

/** The fields that are added by default. */
const USUAL = ["country_iso_code", "city_name", ...REPUTATION_FLAGS, "valid", "disposable"];

/**
 * @param head the first lines, without a partial line
 * @param name the name of the file, whose extension may indicate the format
 * @throws BulkError
 */
export function planFor(head: string, name: string, options: EnrichOptions): Plan {
  if (!PREFIX.test(options.prefix ?? ""))
    throw usage("--prefix must be up to 40 letters, digits, _, - or .", "for example --prefix inkling_");
  if (/^[\r\n]*$/.test(head)) return planOfNothing(name, options);
  const [first, ...others] = [options.ipColumn ?? []].flat();
  if (first !== undefined && others.length > 0) return planOfSeveral(head, name, options, first, others);
  const own = { ...options, ipColumn: first };
  return planOf(layoutOf(head, name, own), name, own);
}

/**
 * Creates a plan for each column of addresses, and one for email. Each name that is added for a column of addresses
 * begins with the name of that column.
 */
function planOfSeveral(
  head: string,
  name: string,
  options: EnrichOptions,
  firstColumn: string,
  others: readonly string[],
): Plan {
  const { add, emailColumn, prefix = "" } = options;
  const isIn = (field: string, table: Table) =>
    namesMatching(
      field,
      FIELDS[table].map(({ name }) => name),
    ).length > 0;
  const isOfEmail = (field: string) => isIn(field, "email");
  const isOnlyOfEmail = (field: string) =>
    isOfEmail(field) && !TABLES.some((table) => table !== "email" && isIn(field, table));
  const ofAddresses = {
    ...options,
    emailColumn: undefined,
    add: emailColumn === undefined ? add : add?.filter((field) => !isOnlyOfEmail(field)),
  };
  const planOfColumn = (ipColumn: string) => {
    const own = { ...ofAddresses, ipColumn };
    const layout = layoutOf(head, name, own);
    const title = columnTitle(layout, layout.ip).replaceAll(/[^\w.-]+/g, "_");
    return planOf(layout, name, { ...own, prefix: `${prefix}${title}_` });
  };
  const first = planOfColumn(firstColumn);
  const rest = others.map(planOfColumn);
  const { format } = first;
  const titles = [first, ...rest].map(({ ipTitle }) => ipTitle);
  if (new Set([first, ...rest].map(({ prefix }) => prefix)).size < titles.length)
    throw usage(`--ip-column has one column twice: ${titles.join(", ")}`, "give each column once");
  let title = `${format}, IP addresses in ${titles.join(" and ")}`;
  if (emailColumn !== undefined) {
    const own = {
      ...options,
      ipColumn: undefined,
      network: false,
      add: add?.filter((field) => field === "all" || isOfEmail(field)),
    };
    const email = planOf(layoutOf(head, name, own), name, own);
    rest.push(email);
    title += email.title.slice(format.length);
  }
  const leftOutTitle = emailColumn === undefined ? first.leftOutTitle : undefined;
  return { ...chained(first, rest), title, leftOutTitle };
}

/** Chains plans. Each plan reads the output of the previous plan, whose rows are wider. */
function chained(plan: Plan, [first, ...rest]: readonly Plan[], wider = 0): Plan {
  const added = TABLES.flatMap((table) => plan.added[table]).length;
  const next = first && chained(first, rest, wider + added);
  return plan.width === undefined ? { ...plan, next } : { ...plan, width: plan.width + wider, next };
}

type OneColumn = EnrichOptions & LayoutOptions;

/** Creates the plan for a file of this layout. @throws BulkError */
function planOf(layout: Layout, name: string, options: OneColumn): Plan {
  const { lines, leftOut, others, ...kept } = layout;
  const added = addedFields(options, layout);
  const { prefix = "" } = options;
  const isThere = namesThere(layout);
  const repeated = TABLES.flatMap((table) => added[table].map((name) => prefix + name)).filter(isThere);
  if (repeated.length > 0) {
    throw usage(
      `${name === "-" ? "standard input" : name} already has ${repeated.join(", ")}: it may have been enriched before`,
      "use the original file, or add columns with other names: --prefix inkling_",
    );
  }
  const ipTitle = layout.ip === undefined ? undefined : columnTitle(layout, layout.ip);
  const leftOutTitle = options.add === undefined ? leftOutOf(layout) : undefined;
  return {
    ...kept,
    added,
    prefix,
    title: titleOf(layout),
    ipTitle,
    leftOutTitle,
    othersTitles: othersOf(layout),
  };
}

function othersOf(layout: Layout): string[] {
  const kinds = [
    ["IP", "--ip-column", layout.others?.ip ?? []],
    ["email", "--email-column", layout.others?.email ?? []],
  ] as const;
  if (hasSeveralAddresses(layout))
    return [
      "most lines have more than one public address: the first one is looked up, unless you name a field with --field",
    ];
  return kinds.flatMap(([what, flag, keys]) => {
    if (keys.length === 0) return [];
    const names = namesText(keys.map((key) => columnTitle(layout, key)));
    return [
      `most rows also have ${what} addresses in ${names}: to look up another column, set it with ${flag}`,
    ];
  });
}

function leftOutOf(layout: Layout): string | undefined {
  if (layout.leftOut === undefined) return undefined;
  const [what, flag] = layout.ip === undefined ? ["IP", "--ip-column"] : ["email", "--email-column"];
  return `the ${what} addresses in ${columnTitle(layout, layout.leftOut)} are not looked up: add them with ${flag}`;
}

/** Returns a plan that looks up nothing, for an empty file. Nightly jobs may encounter such files. */
function planOfNothing(name: string, { format, prefix = "" }: EnrichOptions): Plan {
  const named = format ?? endingOf(name);
  const nothing = {
    ip: undefined,
    email: undefined,
    hasHeader: false,
    width: undefined,
    added: perTable(() => []),
    prefix,
    title: "an empty file",
  };
  if (named === "ndjson") return { ...nothing, format: named, delimiter: undefined };
  return named === "tsv"
    ? { ...nothing, format: named, delimiter: "\t" }
    : { ...nothing, format: "csv", delimiter: "," };
}

const PREFIX = /^[\w.-]{0,40}$/;

/** Returns the fields to add. `all` does not include networks, which must be requested by name or with --network. */
function addedFields({ add, network }: OneColumn, columns: FileLayout): Plan["added"] {
  if (network && columns.ip === undefined)
    throw usage("--network: there is no column with IP addresses", "name the column: --ip-column NAME");
  const possible = perTable((table): readonly Field[] =>
    (table === "email" ? columns.email : columns.ip) === undefined ? [] : FIELDS[table],
  );
  const namesOf = (table: Table) => possible[table].map(({ name }) => name);
  const names = TABLES.flatMap(namesOf);
  const matching = (pattern: string) => (pattern === "all" ? [pattern] : namesMatching(pattern, names));
  const unknown = (add ?? []).filter((name) => matching(name).length === 0);
  if (unknown.length > 0) {
    throw usage(
      `--add: there is no field ${unknown.join(", ")} for these columns`,
      `${didYouMean(unknown[0]!, names)}the fields are all, ${names.join(", ")}; * matches any characters, as in 'country_*'`,
    );
  }
  const wanted = new Set(add?.flatMap(matching) ?? USUAL);
  const isWanted = (name: string, table: Table) =>
    wanted.has(name) || (table === "network" ? network === true : wanted.has("all"));
  return perTable((table) => namesOf(table).filter((name) => isWanted(name, table)));
}
