// enrich.ts: `inkling enrich FILE`: a file's rows with what is known of their addresses.

import { createReadStream, fstatSync, openSync, readSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { attributions } from "../build.ts";
import { type Context, settingsFor, withSettings } from "../context.ts";
import { enrich, SMALL_BYTES } from "../enrich/enrich.ts";
import { type Plan, planFor, ROW_FORMATS } from "../enrich/plan.ts";
import { OwnThread, type Pool, Threads } from "../enrich/pool.ts";
import { summary } from "../enrich/summary.ts";
import type { Tally } from "../enrich/tally.ts";
import type { Start } from "../enrich/worker.ts";
import { CliError, explainFileError } from "../errors.ts";
import { MEMBERS } from "../export/members.ts";
import { overridesNow } from "../overrides.ts";
import { PartialFile } from "../partial-file.ts";
import { renderBar } from "../progress.ts";
import { openServable } from "../releases.ts";
import { formatBytes, formatCount, type Terminal } from "../terminal.ts";

const SETTINGS = ["dataDir"] as const;
/** From this much of the file's beginning its format and columns are found out. */
const HEAD_BYTES = 256 * 1024;
const STDIN = "-";

export function addEnrich(program: Command, context: Context): void {
  const command = program
    .command("enrich <file>")
    .description(
      "add what is known of each row's IP address and e-mail address to a file; - reads standard input",
    )
    .addOption(new Option("--format <format>", "default: found out").choices([...ROW_FORMATS]))
    .option("--out <file>", "where to write (default: standard output)")
    .option("--ip-column <name>", "column of IP addresses, by name or number from 1 (default: found out)")
    .option("--email-column <name>", "column of e-mail addresses, likewise")
    .option("--add <members>", `what to add, or all: ${memberNames()}`, commas)
    .option("--summary", "print a picture of the result; without --out nothing else is printed")
    .addHelpText(
      "after",
      `
Rows keep their order and their text; values are added at the end of each. A row without an address gets empty values, a
row that cannot be read stays as it is. A log may have any form: the first public address of a line counts. Your
overrides count. All cores are used, at constant memory.

Examples:
  inkling enrich visits.csv --out visits-with-places.csv
  inkling enrich users.csv --email-column mail --add disposable,providers
  zcat access.log.gz | inkling enrich - --format log --summary`,
    );
  withSettings(command, SETTINGS);
  command.action(async (file: string, flags) => {
    const { settings } = settingsFor(context, flags, SETTINGS);
    const input = openInput(file);
    const plan = planFor(input.head, file, {
      format: flags.format,
      ipColumn: flags.ipColumn,
      emailColumn: flags.emailColumn,
      add: flags.add,
    });
    const start = await startFor(settings, plan, flags.summary === true, context.terminal);
    const tally = await run(input, plan, start, flags.out, context);
    tell(tally, plan, start.withSummary, flags.out !== undefined, context.terminal);
    const sets = plan.ip === undefined ? ["disposable"] : undefined;
    const { manifest } = openServable(settings.dataDir);
    for (const text of attributions(manifest, sets))
      context.terminal.err(`${context.terminal.style.dim(text)}\n`);
  });
}

const commas = (text: string) => text.split(",").map((name) => name.trim());
const memberNames = () =>
  [...MEMBERS.geolocate, ...MEMBERS.reputation, ...MEMBERS.email].map(({ name }) => name).join(", ");

interface Input {
  readonly head: string;
  /** Bytes; undefined while nobody knows. */
  readonly size: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Reads the beginning, and gives all of it back. @throws CliError */
function openInput(file: string): Input {
  try {
    const descriptor = file === STDIN ? 0 : openSync(file, "r");
    if (file !== STDIN && statSync(file).isDirectory())
      throw new CliError(`${file} is a folder`, "name a file");
    const isFile = fstatSync(descriptor).isFile();
    const head = Buffer.alloc(HEAD_BYTES);
    let length = 0;
    while (length < head.length) {
      const read = readSome(descriptor, head, length);
      if (read === 0) break;
      length += read;
      if (!isFile && head.subarray(0, length).includes(0x0a)) break; // a pipe may not hold more for long
    }
    const begun = head.subarray(0, length);
    const lineEnd = length < head.length && isFile ? length : begun.lastIndexOf(0x0a) + 1;
    const rest = createReadStream("", { fd: descriptor, highWaterMark: 1 << 20, autoClose: file !== STDIN });
    return {
      head: begun
        .subarray(0, lineEnd || length)
        .toString("utf8")
        .replace(/^\uFEFF/, ""),
      size: isFile ? fstatSync(descriptor).size : undefined,
      chunks: (async function* () {
        yield begun;
        yield* rest as AsyncIterable<Uint8Array>;
      })(),
    };
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/** A pipe that is not ready says so: then it is asked again. */
function readSome(descriptor: number, into: Buffer, at: number): number {
  for (;;) {
    try {
      return readSync(descriptor, into, at, into.length - at, null);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Bun.sleepSync(5);
    }
  }
}

async function startFor(
  settings: Parameters<typeof overridesNow>[0] & { dataDir: string },
  plan: Plan,
  withSummary: boolean,
  { err, style }: Terminal,
): Promise<Start> {
  const release = openServable(settings.dataDir);
  const { overrides, remark } = await overridesNow(settings);
  if (remark !== undefined) err(`${style.yellow("warning")}: ${remark}\n`);
  const scopes = [...(plan.ip === undefined ? [] : (["geolocate", "reputation"] as const))];
  for (const gap of new Set(scopes.flatMap((scope) => release.states[scope].missing))) {
    err(`${style.yellow("warning")}: ${gap} is unknown: no feed with it is loaded\n`);
  }
  const { dataDir } = settings;
  return { plan, dataDir, release: release.name, overrides: overrides.all, now: Date.now(), withSummary };
}

async function run(
  input: Input,
  plan: Plan,
  start: Start,
  target: string | undefined,
  { terminal, stopper }: Context,
): Promise<Tally> {
  const isSmall = input.size !== undefined && input.size < SMALL_BYTES;
  const pool: Pool = isSmall ? new OwnThread(start) : new Threads(availableParallelism(), start);
  const file = target === undefined ? undefined : openTarget(target, pool);
  const standard = file === undefined && !start.withSummary ? Bun.stdout.writer() : undefined;
  const progress = new Progress(terminal, input.size);
  try {
    const tally = await enrich(input.chunks, plan.format === "csv" || plan.format === "tsv", pool, {
      signal: stopper.signal,
      write: async (bytes) => {
        file?.write(bytes);
        if (standard === undefined) return;
        standard.write(bytes);
        await standard.flush();
      },
      onProgress: (bytes, rows) => progress.show(bytes, rows),
    });
    await standard?.end();
    file?.finish();
    return tally;
  } catch (error) {
    file?.discard();
    const kept = target === undefined ? "" : `; ${target} was not written`;
    if (error instanceof CliError) throw new CliError(`${error.message}${kept}`, error.hint);
    throw explainFileError(error, target ?? "standard output");
  } finally {
    progress.clear();
  }
}

function openTarget(target: string, pool: Pool): PartialFile {
  try {
    return new PartialFile(target);
  } catch (error) {
    pool.stop();
    throw explainFileError(error, target);
  }
}

/** `██████░░░░  43 %  1,234,567 rows/s  12 s left`, rewritten in place. */
class Progress {
  private readonly terminal: Terminal;
  private readonly size: number | undefined;
  private readonly started = performance.now();
  private shown = 0;

  constructor(terminal: Terminal, size: number | undefined) {
    this.terminal = terminal;
    this.size = size;
  }

  show(bytes: number, rows: number): void {
    const now = performance.now();
    if (!this.terminal.live || now - this.shown < 100) return;
    this.shown = now;
    const seconds = (now - this.started) / 1000;
    const pace = `${formatCount(Math.round(rows / seconds))} rows/s`;
    const { size } = this;
    const left =
      size && bytes > 0 ? `${Math.ceil((seconds * (size - bytes)) / bytes)} s left` : formatBytes(bytes);
    const part = size
      ? `${renderBar(bytes / size, 24)} ${String(Math.floor((bytes / size) * 100)).padStart(3)} %  `
      : "";
    this.terminal.err(`\r\x1b[2K  ${part}${pace}  ${left}`);
  }

  clear(): void {
    if (this.shown > 0) this.terminal.err("\r\x1b[2K");
  }
}

function tell(
  tally: Tally,
  plan: Plan,
  withSummary: boolean,
  hasTarget: boolean,
  { out, err, style }: Terminal,
): void {
  if (withSummary) {
    out(summary(tally, plan, style));
    return;
  }
  const counts = [`${formatCount(tally.rows)} rows`];
  if (plan.ip !== undefined) counts.push(`${formatCount(tally.withoutIp)} without a public IP address`);
  if (plan.email !== undefined) counts.push(`${formatCount(tally.withoutEmail)} without an e-mail address`);
  if (tally.broken > 0) counts.push(`${formatCount(tally.broken)} broken, passed on as they are`);
  const line = counts.join(", ");
  if (hasTarget) out(line);
  else err(`${style.dim(line)}\n`);
}
