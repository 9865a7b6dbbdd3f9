// enrich.ts: `inkling enrich FILE` adds the answers for each row's addresses, from the release in the data folder.

import { availableParallelism } from "node:os";
import {
  BulkError,
  type EnrichOptions,
  enrich,
  FIELDS,
  FORMAT_NAMES,
  Interrupted,
  lastRowEndOfHead,
  notWritten,
  OwnThread,
  PartialFile,
  type Plan,
  type Pool,
  planFor,
  SMALL_BYTES,
  type Start,
  TABLES,
  type Table,
  type Tally,
  Threads,
  unparsable,
} from "@inkling/bulk";
import { LOOKUPS, type Settings } from "@inkling/contract";
import { type Command, Option } from "commander";
import { openAnswerData, RELEASE } from "../runtime/answer.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { type Input, openInput, STDIN_OR_OUT } from "../runtime/input.ts";
import { printTally, tallyJson, unparsableText } from "../terminal/enrich-summary.ts";
import { CliError, explainFileError, explainTargetError, Stopped, usage } from "../terminal/errors.ts";
import { LiveLine, rateText } from "../terminal/progress.ts";
import { attributions, missingText } from "../terminal/release-tables.ts";
import { printAttributions, printable, standardOutput, warn } from "../terminal/terminal.ts";

export function addEnrich(program: Command, context: Context): void {
  const command = program
    .command("enrich <file>")
    .description("add lookups of each row's IP address and email address to a file; - reads standard input")
    .addOption(
      new Option("--format <format>", "default: detected; lines: any text").choices([...FORMAT_NAMES]),
    )
    .option("--out <file>", "file to write; - is standard output (default: -)")
    .option(
      "--ip-field, --ip-column <name>",
      "column or field with IP addresses, by name or number from 1 (default: detected); repeat the option for more columns",
      (name: string, before: readonly string[] = []) => [...before, name],
    )
    .option(
      "--field <number>",
      "lines: look only at this field of each line, from 1 (default: the whole line)",
      fieldNumber,
    )
    .option(
      "--email-column <name>",
      "column with email addresses, by name or number from 1 (default: detected)",
    )
    .option(
      "--add <fields>",
      `what to add, by name or pattern ('country_*'), or all; repeatable: ${fieldNames()}`,
      (text: string, before: readonly string[] = []) => [...before, ...commas(text)],
    )
    .option("--network", `also add the owner of each address's network: ${namesOf("network")}`)
    .option("--prefix <text>", "prefix for the names of added columns")
    .option("--summary", "print a summary of the result; without --out, nothing else is printed")
    .option("--json", "print the summary as JSON")
    .option(
      "--strict",
      "fail, without writing --out, if a line cannot be parsed, or if no row has an address",
    )
    .option(...RELEASE)
    .addHelpText(
      "after",
      `
Rows keep their order and text; the command adds values at the end of each row. A row without an address gets empty
values. An unreadable row is copied unchanged and counted. If a cell has a list of addresses, the command looks up the
first public address. gzip and zstd are recognized; --out is compressed if its name ends in .gz or .zst. A row may be up
to 64 MiB long. Your overrides apply. The command uses all cores and constant memory. If you name several columns with IP
addresses (csv, tsv, ndjson), the names of added columns start with the column's name: src_ip_country_iso_code.

Formats: csv, tsv, ndjson (Caddy and other JSON logs), and lines: logs and any other text. In lines, the command looks up
the first public address. This may be the server's own address if lines begin with it (8.8.8.8:80 203.0.113.9 - - …), or
an address that a client put into its request if the client's own address is private. To be sure, name the field with
--field. Spaces and tabs separate fields. "Text in quotes" and [text in brackets] are one field each.

Examples:
  inkling enrich visits.csv --out visits-with-places.csv
  inkling enrich users.csv --email-column mail --add disposable,providers --prefix mail_
  inkling enrich access.log.gz --summary
  inkling enrich visits.csv --add country_iso_code --network --out visits-with-networks.csv
  inkling enrich visits.csv --add 'country_*,network_asn' --out visits-with-countries.csv
  inkling enrich flows.csv --ip-column src_ip --ip-column dst_ip --network --out flows-with-networks.csv
  inkling enrich visits.csv --release 0123456789ab --out visits-as-before.csv
  inkling enrich access.log --field 1 --out access-enriched.log
  inkling enrich caddy.json --format ndjson --ip-field request.client_ip
  inkling enrich - --format csv --summary --json < visits.csv`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }, file: string) => {
    const target = flags.out === STDIN_OR_OUT ? undefined : flags.out;
    try {
      await enrichFile(file, target, settings, flags, context);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      throw new Stopped(remains(target, flags.summary === true));
    }
  });
}

interface EnrichFlags extends EnrichOptions {
  readonly summary?: boolean;
  readonly json?: boolean;
  readonly strict?: boolean;
  readonly release?: string;
}

async function enrichFile(
  file: string,
  target: string | undefined,
  settings: Settings,
  flags: EnrichFlags,
  context: Context,
): Promise<void> {
  const { terminal } = context;
  const { dim } = terminal.style;
  const input = await openInput(file, context.stopper.signal, lastRowEndOfHead);
  const withSummary = flags.summary === true;
  checkTarget(input, file, target, withSummary);
  const plan = planFor(input.head, file, flags);
  if (flags.json && !withSummary) throw usage("--json needs --summary", "add --summary");
  terminal.err(`${dim(`read as ${printable([...input.encodings, plan.title].join(", "))}`)}\n`);
  for (const text of plan.othersTitles ?? []) terminal.err(`${dim(printable(text))}\n`);
  if (plan.leftOutTitle !== undefined) warn(terminal, printable(plan.leftOutTitle));
  const tables = usedTables(plan, withSummary);
  const lookups = tables.filter((table) => table !== "network");
  const data = await openAnswerData(settings, lookups, flags.release);
  const { release, overrides, missing, warnings } = data;
  const { name, manifest } = release;
  if (!withSummary || flags.json) terminal.err(`${dim(`release ${name}`)}\n`);
  for (const text of warnings) warn(terminal, printable(text));
  if (plan.added.network.length > 0 && release.network === undefined) warn(terminal, missingText("network"));
  const start: Start = {
    plan,
    dataDir: settings.dataDir,
    release: name,
    overrides: overrides.all,
    now: Date.now(),
    withSummary,
    unknown: missing,
  };
  const isAccepted = (tally: Tally) =>
    flags.strict !== true || (unparsable(tally).lines === 0 && !isEmptyHanded(tally, plan));
  const tally = await run(input, start, target, isAccepted, context);
  if (flags.json) terminal.out(JSON.stringify(tallyJson(tally, plan, manifest.id), null, 2));
  else printTally(tally, plan, withSummary ? name : undefined, target !== undefined, terminal);
  printAttributions(terminal, attributions(manifest.feeds, tables).map(printable));
  if (!isAccepted(tally)) throw notStrict(tally, target);
  if (isEmptyHanded(tally, plan)) warn(terminal, `${NOTHING_FOUND}: ${COLUMN_HINT}`);
}

const NOTHING_FOUND = "no row has an address that can be looked up";
const COLUMN_HINT =
  "check the column, or name another one with --ip-column, --email-column or (lines) --field";

/** Returns whether the file has rows, but no row has an address in any of the columns that were looked up. */
function isEmptyHanded({ rows, withoutIp, withoutEmail, next }: Tally, plan: Plan): boolean {
  const isEmpty =
    rows > 0 &&
    (plan.ip === undefined || withoutIp === rows) &&
    (plan.email === undefined || withoutEmail === rows);
  return isEmpty && (plan.next === undefined || next === undefined || isEmptyHanded(next, plan.next));
}

/** File name endings of formats that this command does not write. */
const OTHER_FORMAT = /\.(?:parquet|mmdb|xlsx?|avro|orc|feather)$/i;

/**
 * Refuses to write a format other than the input's. Also refuses to write to the input file, because its rows would be
 * lost: the input is read while the output is written.
 */
function checkTarget(input: Input, file: string, target: string | undefined, withSummary: boolean): void {
  const [ending] = OTHER_FORMAT.exec(target ?? "") ?? [];
  if (ending !== undefined)
    throw usage(
      `--out ${target}: \`enrich\` writes the format of its input, not ${ending}`,
      "end the name in the same way as the input's name, such as .csv, and convert the file afterwards",
    );
  const isSame = target === undefined ? !withSummary && input.isSameAs(STDOUT) : input.isSameAs(target);
  if (!isSame) return;
  const shown = target === undefined ? "standard output" : `--out ${target}`;
  const read = file === STDIN_OR_OUT ? "standard input" : file;
  throw usage(`${shown} and ${read} are the same file`, "write to another file, then rename it");
}

/** The file descriptor of standard output. */
const STDOUT = 1;

function notStrict(tally: Tally, target: string | undefined): CliError {
  const { lines } = unparsable(tally);
  const kept = target === undefined ? "" : `; ${notWritten(target)}`;
  if (lines === 0) return new CliError(`--strict: ${NOTHING_FOUND}${kept}`, COLUMN_HINT);
  return new CliError(
    `--strict: ${unparsableText(tally)}${kept}`,
    `correct ${lines === 1 ? "that line" : "those lines"}, name another --format, or leave out --strict`,
  );
}

/** Returns the tables whose values are added or, with a summary, counted. Only their feeds are attributed. */
function usedTables(plan: Plan, withSummary: boolean): Table[] {
  const counted: Record<Table, boolean> = {
    geolocate: plan.ip !== undefined,
    reputation: plan.ip !== undefined,
    network: false, // counted only if it is added
    email: plan.email !== undefined,
  };
  const own = TABLES.filter((table) => plan.added[table].length > 0 || (withSummary && counted[table]));
  return [...own, ...(plan.next === undefined ? [] : usedTables(plan.next, withSummary))];
}

const MAX_FIELD = 9_999;

function fieldNumber(text: string): number {
  const number = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0;
  if (number === 0)
    throw usage(
      `--field must be a whole number from 1 to ${MAX_FIELD}: it is ${JSON.stringify(text.slice(0, 40))}`,
      "for example --field 1, the first field of each line",
    );
  return number;
}

const commas = (text: string) => text.split(",").map((name) => name.trim());
const namesOf = (table: Table) => FIELDS[table].map(({ name }) => name).join(", ");
const fieldNames = () => LOOKUPS.map(namesOf).join(", ");

async function run(
  input: Input,
  start: Start,
  target: string | undefined,
  isAccepted: (tally: Tally) => boolean,
  { terminal, stopper }: Context,
): Promise<Tally> {
  const { plan, withSummary } = start;
  const isSmall = input.encodings.length === 0 && input.size !== undefined && input.size < SMALL_BYTES;
  const pool = isSmall ? new OwnThread(start) : new Threads(availableParallelism(), start);
  const file = target === undefined ? undefined : openTarget(target, pool);
  const standard = file === undefined && !withSummary ? standardOutput() : undefined;
  const progress = new LiveLine(terminal);
  const since = performance.now();
  try {
    const tally = await enrich(input.chunks, plan, pool, stopper.signal, async (bytes) => {
      file?.write(bytes);
      await standard?.(bytes);
      progress.show(() => rateText(input.bytesRead(), input.size, pool.rows, since));
    });
    if (isAccepted(tally)) file?.finish();
    else file?.discard();
    return tally;
  } catch (error) {
    file?.discard();
    if (error instanceof Interrupted) throw error;
    const kept = `; ${remains(target, withSummary)}`;
    if (error instanceof BulkError) throw new BulkError(`${error.message}${kept}`, error.hint, error.isUsage);
    throw explainFileError(error, target ?? "standard output");
  } finally {
    progress.clear();
  }
}

function remains(target: string | undefined, withSummary: boolean): string {
  if (target !== undefined) return notWritten(target);
  return withSummary ? "the summary was not written" : "rows are missing at the end of standard output";
}

function openTarget(target: string, pool: Pool): PartialFile {
  try {
    return new PartialFile(target);
  } catch (error) {
    pool.stop();
    throw explainTargetError(error, target);
  }
}
