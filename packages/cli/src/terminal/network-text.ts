// network-text.ts: formats facts about a network or an AS as text for a terminal.

import { FLAG_ROWS, REPUTATION_FLAGS, type ReputationFlag } from "@inkling/contract";
import type { NetworkSource, NetworksReport, SystemReport } from "@inkling/server/network-sources";
import { counted, firstOf, formatCount, type Style, table } from "./terminal.ts";

interface Look {
  readonly missing: readonly string[];
  readonly withEvidence: boolean;
  readonly style: Style;
}

const FEEDS_SHOWN = 3;
const PARTS_SHOWN = 10;
const NETWORKS_SHOWN = 5;

/** Returns the verdict on a network, as one line. */
export const networkLine = (network: string, report: NetworksReport, look: Look): string =>
  `${look.style.bold(network)}: ${verdict(report, look)}`;

export function networkText(network: string, report: NetworksReport, look: Look): string {
  return [networkLine(network, report, look), details(report, look)].join("\n");
}

export function systemLine(system: SystemReport, look: Look): string {
  const families = familiesOf(system).map(([family, report]) => `${family} ${verdict(report, look)}`);
  return `${look.style.bold(nameOf(system))}: ${families.join("; ")}`;
}

export function systemText(system: SystemReport, look: Look): string {
  const blocks = familiesOf(system).map(([family, report]) => {
    const shown = look.withEvidence ? report.networks.length : NETWORKS_SHOWN;
    const title = `${family}: ${verdict(report, look)}`;
    return `${title}\n${table([["  networks", firstOf(report.networks, shown)]])}\n${details(report, look)}`;
  });
  return [look.style.bold(nameOf(system)), ...blocks].join("\n\n");
}

const nameOf = ({ number, organization }: SystemReport) =>
  [`AS${number}`, organization].filter(Boolean).join(" ");

function familiesOf({ ipv4, ipv6 }: SystemReport): [family: string, report: NetworksReport][] {
  const all: [string, NetworksReport | undefined][] = [
    ["IPv4", ipv4],
    ["IPv6", ipv6],
  ];
  return all.filter((row): row is [string, NetworksReport] => row[1] !== undefined);
}

function verdict({ flags, flagged, examined }: NetworksReport, { missing, style }: Look): string {
  const part = examined < 1 ? `in the ${percent(examined)} that was examined, ` : "";
  const set = REPUTATION_FLAGS.filter((flag) => flags[flag] > 0).map(
    (flag) => `${FLAG_ROWS[flag].name} ${percent(flags[flag])}`,
  );
  if (flagged > 0)
    return style.red(`${part}${percent(flagged)} of addresses are flagged (${set.join(", ")})`);
  return missing.length > 0
    ? style.yellow(`${part}nothing known, but not every list is loaded`)
    : style.green(`${part}nothing known against it`);
}

function details(report: NetworksReport, look: Look): string {
  const { countries, owners, examined, reserved, prefix_count: count, prefixes } = report;
  const rows: string[][] = REPUTATION_FLAGS.toReversed().map((flag) => flagRow(flag, report, look));
  const labels = report.sources.filter(({ effect }) => effect === "label");
  if (labels.length > 0)
    rows.push(["also", firstOf(labels.map(labelText), look.withEvidence ? labels.length : FEEDS_SHOWN)]);
  const ownersShown = owners.map(({ asn, organization, kind, share }) => {
    const name = [asn === undefined ? undefined : `AS${asn}`, organization].filter(Boolean).join(" ");
    return `${name === "" ? "unknown owner" : name}${kind === "unknown" ? "" : ` (${kind})`} ${percent(share)}`;
  });
  if (owners.length > 0) rows.push(["network", firstOf(ownersShown, look.withEvidence ? owners.length : 3)]);
  if (countries.length > 0)
    rows.push([
      "country",
      countries.map(({ iso_code, share }) => `${iso_code} ${percent(share)}`).join(", "),
    ]);
  if (reserved > 0) rows.push(["special use", percent(reserved)]);
  if (examined < 1) rows.push(["examined", `${percent(examined)}: the network has too many parts`]);
  const shown = prefixes.slice(0, look.withEvidence ? prefixes.length : PARTS_SHOWN);
  const parts = shown.map(({ network, flags, country = "", city = "" }) => [
    `    ${network}`,
    flags.map((flag) => FLAG_ROWS[flag].name).join(", "),
    [city, country].filter(Boolean).join(", "),
  ]);
  const rest = count - shown.length;
  const how = look.withEvidence || count <= PARTS_SHOWN ? "" : "; --evidence shows more";
  return [
    table(rows.map(([name, ...cells]) => [`  ${name}`, ...cells])),
    `  ${counted(count, "part")}, flagged ones first`,
    table(parts),
    ...(rest > 0 ? [`    and ${formatCount(rest)} more${how}`] : []),
  ].join("\n");
}

/** Formats a flag, its share, the feeds that set it, and the feeds that remove it. */
function flagRow(flag: ReputationFlag, { flags, sources }: NetworksReport, look: Look): string[] {
  const { name } = FLAG_ROWS[flag];
  const { missing, withEvidence, style } = look;
  const feedsOf = (wanted: string) =>
    sources
      .filter((source) => source.effect === wanted && source.flags.includes(flag))
      .map((source) => `${feedName(source)} ${percent(source.share)}`);
  const [sets, removes] = [feedsOf("sets"), feedsOf("removes")];
  const shown = withEvidence ? sources.length : FEEDS_SHOWN;
  if (flags[flag] === 0 && missing.includes(flag))
    return [name, `${style.yellow("unknown")}: no list is loaded`];
  const against = removes.length === 0 ? "" : `; removed by ${firstOf(removes, shown)}`;
  if (flags[flag] === 0) return [name, `${style.green("no")}${against}`];
  return [name, `${style.red(percent(flags[flag]))}: ${firstOf(sets, shown)}${against}`];
}

const feedName = ({ feed, id }: NetworkSource) => (feed === "override" ? `your override ${id ?? ""}` : feed);

const labelText = (source: NetworkSource) =>
  `${source.label.replaceAll(/[_-]/g, " ")} (${feedName(source)}) ${percent(source.share)}`;

/** Returns a text such as "100%", "3.2%" or "< 0.1%". */
function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "< 0.1%";
  if (value > 99.9 && value < 100) return "> 99.9%";
  return `${Number(value.toFixed(value < 10 ? 1 : 0))}%`;
}
