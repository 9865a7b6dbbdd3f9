// enrich.ts: `inkling enrich FILE`: adds the answers for each row's addresses, from the release here or from a server.

import { createReadStream, fstatSync, openSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import {
  BulkError,
  checkRemote,
  type EnrichOptions,
  enrich,
  Interrupted,
  MEMBERS,
  notWritten,
  OwnThread,
  PartialFile,
  type Plan,
  type Pool,
  planFor,
  type Remote,
  RemotePool,
  ROW_FORMATS,
  remoteStatus,
  SMALL_BYTES,
  type Start,
  type Tally,
  Threads,
  untilStopped,
} from "@inkling/bulk";
import { type Command, Option } from "commander";
import type { Settings } from "../config/settings.ts";
import { missingText, openAnswerData } from "../runtime/answer-data.ts";
import { attributions } from "../runtime/build.ts";
import { addAction } from "../runtime/command.ts";
import type { Context } from "../runtime/context.ts";
import { summary } from "../terminal/enrich-summary.ts";
import { CliError, EXIT, explainFileError, Stopped } from "../terminal/errors.ts";
import { LiveLine, renderBar } from "../terminal/progress.ts";
import {
  formatBytes,
  formatCount,
  printAttributions,
  printable,
  type Terminal,
  warn,
} from "../terminal/terminal.ts";

const SETTINGS = ["dataDir", "apiKey"] as const;
/** The format and the columns are detected in this much of the file. */
const HEAD_BYTES = 256 * 1024;
const STDIN_OR_OUT = "-";
const LF = 0x0a;
const REDRAW_MS = 100;

export function addEnrich(program: Command, context: Context): void {
  const command = program
    .command("enrich <file>")
    .description(
      "add what is known of each row's IP address and email address to a file; - reads standard input",
    )
    .addOption(new Option("--format <format>", "default: detected").choices([...ROW_FORMATS]))
    .option("--out <file>", "where to write; - is standard output (default: -)")
    .option("--ip-column <name>", "column of IP addresses, by name or number from 1 (default: detected)")
    .option("--email-column <name>", "column of email addresses, likewise")
    .option("--add <members>", `what to add, or all: ${memberNames()}`, commas)
    .option("--prefix <text>", "put this before the name of all that is added")
    .option(
      "--url <url>",
      "look up at this server, with the key in INKLING_API_KEY (default: the release here, no server)",
    )
    .option("--summary", "print a summary of the result; without --out nothing else is printed")
    .addHelpText(
      "after",
      `
Rows keep their order and their text; values are added at the end of each. A row without an address gets empty values, a
row that cannot be read stays as it is. A log may have any form: the first public address of a line counts. Your
overrides apply. All cores are used, at constant memory. With --url it is the server's release and overrides, and each
distinct address is one lookup of the key's rate and quota.

Examples:
  inkling enrich visits.csv --out visits-with-places.csv
  inkling enrich users.csv --email-column mail --add disposable,providers --prefix mail_
  zcat access.log.gz | inkling enrich - --format log --summary
  INKLING_API_KEY=ink_live_… inkling enrich visits.csv --url https://inkling.example --out out.csv`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
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
  readonly url?: string;
  readonly summary?: boolean;
}

async function enrichFile(
  file: string,
  target: string | undefined,
  settings: Settings,
  flags: EnrichFlags,
  context: Context,
): Promise<void> {
  const { terminal } = context;
  const input = await openInput(file, context.stopper.signal);
  const plan = planFor(input.head, file, flags);
  const withSummary = flags.summary === true;
  const source =
    flags.url === undefined
      ? await localSource(settings, plan, withSummary)
      : await serverSource({ url: flags.url, key: keyOf(settings) }, plan, withSummary);
  for (const text of source.warnings) warn(terminal, printable(text));
  const tally = await run(input, plan, source.pool, withSummary, target, context);
  printTally(tally, plan, withSummary, target !== undefined, terminal);
  printAttributions(terminal, source.attributions.map(printable));
}

/** Where answers come from. */
interface Source {
  /** @param size of the file in bytes, where it is known */
  readonly pool: (size: number | undefined) => Pool;
  readonly warnings: readonly string[];
  readonly attributions: readonly string[];
}

function keyOf({ apiKey }: Settings): string {
  if (apiKey !== undefined) return apiKey;
  throw new CliError(
    "--url needs a key of that server",
    "put one into the environment: INKLING_API_KEY=ink_live_…",
    EXIT.usage,
  );
}

async function serverSource(remote: Remote, plan: Plan, withSummary: boolean): Promise<Source> {
  checkRemote(remote);
  const { missing, feeds } = await remoteStatus(remote);
  const pool = new RemotePool(plan, withSummary, remote, missing);
  return {
    pool: () => pool,
    warnings: missing.filter((flag) => plan.ip !== undefined || flag === "disposable").map(missingText),
    attributions: attributions(feeds, attributedLookups(plan)),
  };
}

/** Whose feeds are attributed; undefined = all. */
const attributedLookups = (plan: Plan) => (plan.ip === undefined ? (["email"] as const) : undefined);

const commas = (text: string) => text.split(",").map((name) => name.trim());
const memberNames = () =>
  [...MEMBERS.geolocate, ...MEMBERS.reputation, ...MEMBERS.email].map(({ name }) => name).join(", ");

interface Input {
  readonly head: string;
  /** Bytes; undefined of a pipe. */
  readonly size: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Reads the beginning, and gives all of it back. @throws CliError */
async function openInput(file: string, signal: AbortSignal): Promise<Input> {
  try {
    const descriptor = file === STDIN_OR_OUT ? 0 : openSync(file, "r");
    if (file !== STDIN_OR_OUT && statSync(file).isDirectory())
      throw new CliError(`${file} is a folder`, "name a file");
    const stats = fstatSync(descriptor);
    const isFile = stats.isFile();
    const stream = createReadStream("", {
      fd: descriptor,
      highWaterMark: 1 << 20,
      autoClose: file !== STDIN_OR_OUT,
    });
    const rest = untilStopped(stream as AsyncIterable<Uint8Array>, signal);
    const begun: Uint8Array[] = [];
    let length = 0;
    let isWhole = false;
    while (length < HEAD_BYTES && !isWhole) {
      const { value, done } = await rest.next();
      isWhole = done === true;
      if (value === undefined) break;
      begun.push(value);
      length += value.length;
      if (!isFile && value.includes(LF)) break; // a pipe may not hold more for long
    }
    const head = Buffer.concat(begun).subarray(0, HEAD_BYTES);
    const lineEnd = isWhole && length <= HEAD_BYTES ? length : head.lastIndexOf(LF) + 1;
    return {
      head: head
        .subarray(0, lineEnd || head.length)
        .toString("utf8")
        .replace(/^\uFEFF/, ""),
      size: isFile ? stats.size : undefined,
      chunks: (async function* () {
        yield* begun;
        yield* rest;
      })(),
    };
  } catch (error) {
    throw explainFileError(error, file);
  }
}

async function localSource(settings: Settings, plan: Plan, withSummary: boolean): Promise<Source> {
  const { dataDir } = settings;
  const lookups = plan.ip === undefined ? [] : (["geolocate", "reputation"] as const);
  const { release, overrides, missing, warnings } = await openAnswerData(settings, lookups);
  const start: Start = {
    plan,
    dataDir,
    release: release.name,
    overrides: overrides.all,
    now: Date.now(),
    withSummary,
    unknown: missing,
  };
  return {
    pool: (size) =>
      size !== undefined && size < SMALL_BYTES
        ? new OwnThread(start)
        : new Threads(availableParallelism(), start),
    warnings,
    attributions: attributions(release.manifest.feeds, attributedLookups(plan)),
  };
}

async function run(
  input: Input,
  plan: Plan,
  poolFor: Source["pool"],
  withSummary: boolean,
  target: string | undefined,
  { terminal, stopper }: Context,
): Promise<Tally> {
  const pool = poolFor(input.size);
  const file = target === undefined ? undefined : openTarget(target, pool);
  const standard = file === undefined && !withSummary ? Bun.stdout.writer() : undefined;
  const progress = new Progress(terminal, input.size);
  try {
    const tally = await enrich(input.chunks, plan.delimiter, pool, {
      signal: stopper.signal,
      write: async (bytes) => {
        file?.write(bytes);
        if (standard === undefined) return;
        standard.write(bytes);
        await standard.flush();
      },
      onProgress: (bytes, rows) => progress.showRate(bytes, rows),
    });
    await standard?.end();
    file?.finish();
    return tally;
  } catch (error) {
    file?.discard();
    if (error instanceof Interrupted) throw error;
    const kept = target === undefined ? "" : `; ${target} was not written`;
    if (error instanceof BulkError) throw new BulkError(`${error.message}${kept}`, error.hint, error.isUsage);
    throw explainFileError(error, target ?? "standard output");
  } finally {
    progress.clear();
  }
}

function remains(target: string | undefined, withSummary: boolean): string {
  if (target !== undefined) return notWritten(target);
  return withSummary ? "there is no summary" : "rows are missing at the end of standard output";
}

function openTarget(target: string, pool: Pool): PartialFile {
  try {
    return new PartialFile(target);
  } catch (error) {
    pool.stop();
    const isFolderMissing = (error as NodeJS.ErrnoException).code === "ENOENT"; // the file itself would be made
    throw explainFileError(error, isFolderMissing ? `the folder ${dirname(target)}` : target);
  }
}

/** `██████░░░░  43 %  1,234,567 rows/s  12 s left`, rewritten in place. */
class Progress extends LiveLine {
  private readonly size: number | undefined;
  private readonly started = performance.now();
  private drawnAt = 0;

  constructor(terminal: Terminal, size: number | undefined) {
    super(terminal);
    this.size = size;
  }

  showRate(bytes: number, rows: number): void {
    const now = performance.now();
    if (now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    const seconds = (now - this.started) / 1000;
    const rate = `${formatCount(Math.round(rows / seconds))} rows/s`;
    const { size } = this;
    if (!size) {
      this.show(`  ${rate}  ${formatBytes(bytes)}`);
      return;
    }
    const part = bytes / size;
    const percent = `${String(Math.floor(part * 100)).padStart(3)} %`;
    const left = bytes > 0 ? `${Math.ceil((seconds * (size - bytes)) / bytes)} s left` : formatBytes(0);
    this.show(`  ${renderBar(part, 24)} ${percent}  ${rate}  ${left}`);
  }
}

/** What is irregular in the file, and how it was read. */
function irregularities({ ragged, openQuotes }: Tally): string[] {
  return [
    ...(ragged > 0 ? [`${formatCount(ragged)} with another number of fields than the header`] : []),
    ...(openQuotes > 0
      ? [`${formatCount(openQuotes)} with a quote that is never closed, read as one line each`]
      : []),
  ];
}

function printTally(
  tally: Tally,
  plan: Plan,
  withSummary: boolean,
  hasTarget: boolean,
  terminal: Terminal,
): void {
  const { out, err, style } = terminal;
  if (withSummary) {
    out(summary(tally, plan, style));
    for (const text of irregularities(tally)) warn(terminal, text);
    return;
  }
  const counts = [`${formatCount(tally.rows)} rows`];
  if (plan.ip !== undefined) counts.push(`${formatCount(tally.withoutIp)} without a public IP address`);
  if (plan.email !== undefined) counts.push(`${formatCount(tally.withoutEmail)} without an email address`);
  if (tally.broken > 0) counts.push(`${formatCount(tally.broken)} broken, left as they are`);
  counts.push(...irregularities(tally));
  const line = counts.join(", ");
  if (hasTarget) out(line);
  else err(`${style.dim(line)}\n`);
}
