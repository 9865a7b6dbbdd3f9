// enrich-summary.ts: formats a summary of what was enriched, as one line or as bars for a terminal.

import { type Plan, type Tally, unparsable } from "@inkling/bulk";
import { renderBar } from "./progress.ts";
import { counted, formatCount, printable, type Style, type Terminal, table, warn } from "./terminal.ts";

const TOP_COUNTRIES = 12;
const CELLS = 30;

type Column = readonly [tally: Tally, plan: Plan];

/** Returns the counts for each column. A file has several address columns only if the user named them. */
function columnsOf(tally: Tally, plan: Plan): Column[] {
  const { next } = plan;
  return [[tally, plan], ...(next && tally.next ? columnsOf(tally.next, next) : [])];
}

/**
 * Returns the summary for programs. `ip` is an object; for several columns, it contains one object for each column
 * name.
 *
 * `rows` counts the lines that were looked up. A line with a wrong quote is such a row, and also counts in
 * `open_quotes`. `broken` counts the lines that are not rows. `unparsable_lines` counts both kinds.
 * @param dataVersion the id of the release
 */
export function tallyJson(tally: Tally, plan: Plan, dataVersion: string): object {
  const { rows, broken, firstUnparsable, ragged, firstRagged, openQuotes } = tally;
  const columns = columnsOf(tally, plan);
  const ofIp = columns.filter(([, { ip }]) => ip !== undefined);
  const ip =
    plan.next === undefined
      ? ofIp.map(ipJson)[0]
      : Object.fromEntries(ofIp.map((column) => [column[1].ipTitle, ipJson(column)]));
  const { lines, share } = unparsable(tally);
  const email = columns.find(([, { email }]) => email !== undefined)?.[0];
  return {
    data_version: dataVersion,
    format: plan.format,
    rows,
    broken: { rows: broken },
    unparsable_lines: lines,
    unparsable_first_line: firstUnparsable ?? null,
    unparsable_share: share,
    ragged,
    ragged_first_line: firstRagged ?? null,
    open_quotes: openQuotes,
    ...(ip !== undefined && { ip }),
    ...(email !== undefined && {
      email: { found: rows - email.withoutEmail, missing: email.withoutEmail, ...email.email },
    }),
  };
}

function ipJson([{ rows, withoutIp, countries, flags, kinds }, { added }]: Column): object {
  const found = rows - withoutIp;
  const { "": _, ...known } = countries;
  return {
    found,
    missing: withoutIp,
    countries: known,
    country_unknown: found - sumOf(known),
    flags,
    ...(added.network.length > 0 && { network_kinds: kinds }),
  };
}

const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Formats how many lines cannot be parsed, with their share and the first such line: "2 unparsable lines (0.1%)". */
export function unparsableText(tally: Tally): string {
  const { lines, share } = unparsable(tally);
  const first = tally.firstUnparsable === undefined ? "" : `, ${firstText(tally.firstUnparsable)}`;
  return `${counted(lines, "unparsable line")} (${percent(share)}${first})`;
}

const firstText = (line: number) => `the first is line ${formatCount(line)}`;

/** Describes irregularities in the file, and how they were read. */
function irregularities({ ragged, firstRagged, openQuotes }: Tally): string[] {
  const where = firstRagged === undefined ? "" : ` (${firstText(firstRagged)})`;
  return [
    ...(ragged > 0
      ? [`${formatCount(ragged)} with a different number of fields than the header${where}`]
      : []),
    ...(openQuotes > 0
      ? [`${formatCount(openQuotes)} with an unclosed or misplaced quote, each read as one line`]
      : []),
  ];
}

/** @param release the name of the release, for a summary; undefined to print only counts */
export function printTally(
  tally: Tally,
  plan: Plan,
  release: string | undefined,
  hasTarget: boolean,
  terminal: Terminal,
): void {
  const { out, err, style } = terminal;
  if (release !== undefined) {
    out(summary(tally, plan, release, style));
    for (const text of irregularities(tally)) warn(terminal, text);
    return;
  }
  const counts = [counted(tally.rows, "row"), unparsableText(tally)];
  for (const [{ withoutIp, withoutEmail }, { ip, email, ipTitle }] of columnsOf(tally, plan)) {
    const where = plan.next === undefined ? "" : ` in ${printable(ipTitle ?? "")}`;
    if (ip !== undefined) counts.push(`${formatCount(withoutIp)} without a public IP address${where}`);
    if (email !== undefined) counts.push(`${formatCount(withoutEmail)} without an email address`);
  }
  counts.push(...irregularities(tally));
  const line = counts.join(", ");
  if (hasTarget) out(line);
  else err(`${style.dim(line)}\n`);
}

function summary(tally: Tally, plan: Plan, release: string, style: Style): string {
  const parts = [style.bold(counted(tally.rows, "row")), unparsableText(tally), `release ${release}`];
  for (const [counted, { ip, email, ipTitle }] of columnsOf(tally, plan)) {
    if (ip !== undefined && plan.next !== undefined) parts.push("", style.bold(printable(ipTitle ?? "")));
    if (ip !== undefined) parts.push(...ipParts(counted, style));
    if (email !== undefined) parts.push(...emailParts(counted, style));
  }
  return parts.join("\n");
}

function ipParts({ rows, withoutIp, countries, flags, kinds }: Tally, style: Style): string[] {
  const total = rows - withoutIp;
  const known = sumOf(countries);
  const ranked = Object.entries(countries)
    .filter(([code]) => code !== "")
    .sort(([, a], [, b]) => b - a);
  const top = ranked.slice(0, TOP_COUNTRIES);
  const others = ranked.slice(TOP_COUNTRIES).reduce((sum, [, count]) => sum + count, 0);
  const unknown = total - known + (countries[""] ?? 0);
  const most = top[0]?.[1] ?? 0;
  const lines = top.map(([code, count]) => bar(code, count, most, total));
  if (others > 0) lines.push(bar(`${ranked.length - TOP_COUNTRIES} more`, others, most, total));
  if (unknown > 0) lines.push(bar("unknown", unknown, most, total));
  const raised = Object.entries(flags).map(([flag, count]) => bar(flag, count, total, total));
  const networks = Object.entries(kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => bar(kind, count, total, total));
  return [
    `${formatCount(total)} with a public IP address, ${formatCount(withoutIp)} without`,
    ...section("Countries", lines, style),
    ...(raised.length > 0 ? section("Flags", raised, style) : []),
    ...(networks.length > 0 ? section("Networks", networks, style) : []),
  ];
}

const section = (title: string, rows: string[][], style: Style) => [
  "",
  style.bold(title),
  table(rows, [1, 2]),
];

function emailParts({ rows, withoutEmail, email }: Tally, style: Style): string[] {
  const total = rows - withoutEmail;
  const lines = [
    bar("valid", email.valid, total, total),
    bar("disposable", email.disposable, total, total),
    ["empty", formatCount(withoutEmail), "", ""],
  ];
  return section("Email addresses", lines, style);
}

/** Formats a name, a count, its share, and a bar whose length is relative to the highest count. */
function bar(name: string, count: number, most: number, all: number): string[] {
  const cells = most > 0 ? Math.min(CELLS, Math.ceil((count / most) * CELLS)) : 0;
  return [
    printable(name),
    formatCount(count),
    share(count, all),
    renderBar(cells / CELLS, CELLS).replaceAll("░", ""),
  ];
}

function share(count: number, all: number): string {
  return all === 0 ? "-" : percent(count / all);
}

const percent = (part: number) => (part > 0 && part < 0.001 ? "<0.1%" : `${(part * 100).toFixed(1)}%`);
