// program.ts: defines the command tree, and the exit code for each way a command can end.

import { LOOKUPS } from "@inkling/contract";
import { FORM } from "@inkling/data/program";
import { nearest } from "@inkling/engine";
import { Command, CommanderError } from "commander";
import type { Context } from "./runtime/command.ts";
import { CliError, EXIT, explainFileError, fromBulk, SettingsError } from "./terminal/errors.ts";
import { printable, type Style } from "./terminal/terminal.ts";

const IN_A_CLONE = FORM === "clone" ? "\nIn a clone, run `./inkling` instead of `inkling`." : "";

const HELP_AFTER = `
Examples:
  inkling 185.220.101.1 someone@mailinator.com    lookups, no server needed
  inkling 185.220.101.0/24                        also looks up networks, AS60729 and mailinator.com
  cut -f 3 visits.tsv | inkling                   looks up a value per line
  inkling up                                      build data, create keys and serve
  inkling keys create --name checkout
  inkling doctor                                  check this installation and show fixes

Exit codes: 0 success; 1 failure; 2 invalid command line or setting; 3 success, but a feed is held, unreachable,
expired or missing, or data is missing or older than --max-age; 130 stopped by Ctrl-C.
Settings: flags override INKLING_* variables, which override inkling.toml; see \`inkling config\`.${IN_A_CLONE}`;

type Add = (program: Command, context: Context) => unknown;

/**
 * All commands, in the order of the help. Each is loaded on demand, because loading all of them takes a tenth of a
 * second.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Add>>> = {
  up: async () => (await import("./commands/up.ts")).addUp,
  serve: async () => (await import("./commands/serve.ts")).addServe,
  data: async () => (await import("./commands/data.ts")).addData,
  build: async () => (await import("./commands/build.ts")).addBuild,
  channel: async () => (await import("./commands/channel.ts")).addChannel,
  hosts: async () => (await import("./commands/hosts.ts")).addHosts,
  feeds: async () => (await import("./commands/feeds.ts")).addFeeds,
  keys: async () => (await import("./commands/keys.ts")).addKeys,
  lookup: async () => (await import("./commands/lookup.ts")).addLookup,
  grep: async () => (await import("./commands/lookup.ts")).addGrep,
  assess: async () => (await import("./commands/assess.ts")).addAssess,
  rules: async () => (await import("./commands/rules.ts")).addRules,
  decisions: async () => (await import("./commands/decisions.ts")).addDecisions,
  overrides: async () => (await import("./commands/overrides.ts")).addOverrides,
  webhooks: async () => (await import("./commands/webhooks.ts")).addWebhooks,
  audit: async () => (await import("./commands/audit.ts")).addAudit,
  mcp: async () => (await import("./commands/mcp.ts")).addMcp,
  enrich: async () => (await import("./commands/enrich.ts")).addEnrich,
  export: async () => (await import("./commands/export.ts")).addExport,
  backup: async () => (await import("./commands/backup.ts")).addBackup,
  restore: async () => (await import("./commands/restore.ts")).addRestore,
  database: async () => (await import("./commands/backup.ts")).addDatabase,
  "admin-tokens": async () => (await import("./commands/admin-tokens.ts")).addAdminTokens,
  config: async () => (await import("./commands/config.ts")).addConfig,
  health: async () => (await import("./commands/health.ts")).addHealth,
  doctor: async () => (await import("./commands/doctor.ts")).addDoctor,
  completion: async () => (await import("./commands/completion.ts")).addCompletion,
};
/** Flags that do not need a command. */
const VERSION = ["-V", "--version"];
/** The command that loads all other commands. */
const LISTS_ALL = "completion";

/** Adds all commands, or only the one that the command line calls. */
export async function makeProgram(context: Context, [name = ""]: readonly string[] = []): Promise<Command> {
  const program = new Command("inkling")
    .usage("VALUE...\n       inkling [options] [command]")
    .description("Self-hosted IP geolocation, IP reputation and disposable-email detection API.")
    .version(context.version, VERSION.join(", "), "print the version")
    .helpOption("-h, --help", "print help")
    .enablePositionalOptions() // options after `lookup geolocate` belong to geolocate, not to lookup
    .addHelpText("after", HELP_AFTER);
  if (VERSION.includes(name)) return program;
  const one = Object.hasOwn(COMMANDS, name) && name !== LISTS_ALL ? COMMANDS[name] : undefined;
  for (const load of one ? [one] : Object.values(COMMANDS)) (await load())(program, context);
  return program.showSuggestionAfterError(false); // of commands only: meantBy suggests lookups as well
}

/** Commander's output, kept until it is clear whether that is help or an error message. */
interface Written {
  out: string;
  err: string;
}

/** Matches values that a user may have meant to look up. No command looks like such a value. */
const isValue = (word: string) => /[.:/@]|^as\d+$/i.test(word) && !word.startsWith("-");

/** Treats `inkling 8.8.8.8` as `inkling lookup 8.8.8.8`, and `… | inkling` as `… | inkling lookup -`. */
async function withCommand(line: readonly string[], context: Context): Promise<readonly string[]> {
  let [word] = line;
  if (word !== undefined && word.length > 1 && word.startsWith("-")) {
    if (VERSION.includes(word)) return line;
    const { addLookup } = await import("./commands/lookup.ts");
    const { operands, unknown } = addLookup(new Command(), context).parseOptions([...line]);
    if (unknown.length > 0) return line;
    [word] = operands; // neither an option of `lookup` nor an option's value
  }
  if (word === undefined) return context.hasInput ? ["lookup", ...line, "-"] : line;
  return word === "-" || isValue(word) ? ["lookup", ...line] : line;
}

/**
 * Runs one command line.
 * @returns the exit code; a user's mistake never throws
 */
export async function run(line: readonly string[], context: Context): Promise<number> {
  const args = await withCommand(line, context);
  const written: Written = { out: "", err: "" };
  const program = await makeProgram(context, args);
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => {
        written.out += text;
      },
      writeErr: (text) => {
        written.err += text;
      },
    });
  }
  try {
    await program.parseAsync([...args], { from: "user" });
    return context.ending.exitCode;
  } catch (thrown) {
    const error = fromBulk(thrown);
    if (error instanceof CommanderError)
      return endUsage(error, written, context, helpFor(program, args, error.code));
    context.terminal.err(describeError(error, context.terminal.style));
    return error instanceof CliError ? error.exitCode : EXIT.error;
  }
}

function* everyCommand(command: Command): Generator<Command> {
  yield command;
  for (const inner of command.commands) yield* everyCommand(inner);
}

/**
 * Returns a hint with the help of the most specific command on a command line, such as `inkling keys create
 * --help`.
 */
function helpFor(program: Command, args: readonly string[], code: string): string {
  let command = program;
  const path = ["inkling"];
  for (const arg of args) {
    const inner = command.commands.find((candidate) => candidate.name() === arg);
    if (inner === undefined) break;
    command = inner;
    path.push(arg);
  }
  const help = `run \`${path.join(" ")} --help\` to see`;
  if (code === "commander.unknownCommand" && command === program)
    return after(meantBy(args), `${help} the usage`);
  if (code !== "commander.unknownCommand") return `${help} the usage`;
  return `available: ${command.commands.map((inner) => inner.name()).join(", ")}; ${help} more`;
}

/** Returns a question, which may be empty, and then a hint. */
const after = (question: string, hint: string): string =>
  question === "" ? hint : `${question}${hint.replace(/^r/, "R")}`;

/** Words for a lookup that no lookup's name begins with. */
const ANY_LOOKUP = ["ip", "ips", "address", "domain", "check", "whois", "asn"];

/** Suggests the command or lookup that the user probably meant by a line whose first word is not a command. */
function meantBy([word = "", ...rest]: readonly string[]): string {
  const value = rest.find(isValue);
  const lookup =
    LOOKUPS.find((name) => name.slice(0, 3) === word.slice(0, 3) && word.length >= 3) ??
    nearest(word, LOOKUPS);
  const isAny = ANY_LOOKUP.includes(word);
  const command = lookup === undefined && !isAny ? nearest(word, Object.keys(COMMANDS)) : undefined;
  if (command !== undefined) return `did you mean ${command}? `;
  if (lookup !== undefined) return `did you mean \`inkling lookup ${lookup} ${value ?? "VALUE"}\`? `;
  return value !== undefined || isAny ? `did you mean \`inkling ${value ?? "VALUE"}\`? ` : "";
}

/** Requested help goes to standard output. Other help and errors go to standard error. */
function endUsage(error: CommanderError, written: Written, { terminal }: Context, help: string): number {
  if (error.exitCode === 0) {
    terminal.out(written.out.trimEnd());
    return EXIT.ok;
  }
  if (error.code === "commander.help") {
    terminal.err(written.err);
    return EXIT.usage;
  }
  const [message, ...rest] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = /\((Did you mean .*)\)/.exec(rest.join(" "))?.[1];
  const hint = suggestion === undefined ? help : after(`${suggestion.replace(/^D/, "d")} `, help);
  terminal.err(`${terminal.style.red("inkling")}: ${message}\nhint: ${hint}\n`);
  return EXIT.usage;
}

/** Formats an error as one line and a hint. The stack is included only if the fault is Inkling's. */
export function describeError(error: unknown, style: Style): string {
  const { message, hint } = describe(error);
  const text = printable(message);
  const title = error instanceof SettingsError ? text : `${style.red("inkling")}: ${text}`;
  return hint === undefined ? `${title}\n` : `${title}\nhint: ${printable(hint)}\n`;
}

function describe(error: unknown): { message: string; hint: string | undefined } {
  if (!(error instanceof Error)) return { message: String(error), hint: REPORT };
  if (error instanceof CliError) return error;
  // Store errors carry their own hint.
  if ("hint" in error && typeof error.hint === "string") return { message: error.message, hint: error.hint };
  const path = (error as NodeJS.ErrnoException).path;
  const explained = path === undefined ? error : explainFileError(error, path);
  if (explained instanceof CliError) return explained;
  return { message: error.stack ?? error.message, hint: REPORT };
}

const REPORT = "this is a bug in Inkling: please report it with the text above";
