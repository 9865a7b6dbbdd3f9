// operation-fields.ts: the arguments and flags of a command that derives from a row, and the operation's input that their
// texts stand for. Mistakes in the input are explained in the words of the command line.

import { issueLines } from "@inkling/engine";
import {
  type AnyOperation,
  type CommandRow,
  type Flag,
  fieldSchema,
  fromText,
  type Resource,
} from "@inkling/operations";
import { type Command, Option } from "commander";
import { z } from "zod";
import { type CliError, usage } from "../terminal/errors.ts";
import { type Flags, joined } from "./command.ts";
import { durationMs, expiryOf, pastOf } from "./durations.ts";

/** What flags for times and durations take, by the names of their fields. */
const TIME = { field: /_(at|until)$/, takes: "time", help: ": 90d, 2027-01-31 or 2027-01-31T12:00:00Z" };
/** A duration counts back from now. */
const PAST = {
  field: /^(since|until|before)$/,
  takes: "time",
  help: ": 7d (ago), 2027-01-31 or 2027-01-31T12:00:00Z",
};
const DURATION = { field: /_seconds$/, takes: "duration", help: ": 0s, 30m, 24h, 7d" };
const kindOf = (name: string) => [TIME, PAST, DURATION].find(({ field }) => field.test(name));

export const lowerFirst = (text: string) => `${text[0]!.toLowerCase()}${text.slice(1)}`;
const camelCase = (name: string) => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
const durationText = (seconds: number) => (seconds % 3_600 === 0 ? `${seconds / 3_600}h` : `${seconds}s`);

/** A field of the input, as an argument or a flag. */
class Field {
  readonly name: string;
  /** The argument's or flag's name. */
  readonly shown: string;
  /** True if it is the part after "=" in another field's flag. */
  readonly isPart: boolean;
  readonly isArgument: boolean;
  private readonly schema: z.ZodType;
  private readonly flag: Flag;

  constructor(
    name: string,
    schema: z.ZodType,
    { route }: AnyOperation,
    { arguments: more = [], flags = {} }: CommandRow,
  ) {
    const flag = flags[name];
    const whole = Object.keys(flags).find((other) => flags[other]!.with === name);
    this.name = name;
    this.shown = whole ?? flag?.name ?? name.replace(/_(at|until|seconds)$/, "").replaceAll("_", "-");
    this.isPart = whole !== undefined;
    this.isArgument = route.includes(`{${name}}`) || more.includes(name);
    this.schema = schema;
    this.flag = flag ?? {};
  }

  get isOptional(): boolean {
    return this.schema.safeParse(undefined).success;
  }

  option(): Option {
    const { name, schema, flag, shown } = this;
    const { type, enum: values, description = "", default: standard } = fieldSchema(schema);
    const { help = lowerFirst(description), none } = flag;
    const kind = kindOf(name);
    const isSwitch = type === "boolean" || flag.value !== undefined;
    const placeholder = isSwitch ? "" : ` <${kind?.takes ?? this.placeholder()}>`;
    const word =
      none === undefined ? "" : none.means ? `; ${none.word} = ${none.means}` : `, or ${none.word}`;
    const option = new Option(`--${shown}${placeholder}`, `${help}${kind?.help ?? ""}${word}`);
    if (values !== undefined && !isSwitch) option.choices(values);
    if (type === "array") option.argParser(joined);
    if (flag.default !== undefined) option.default(flag.default);
    if (standard !== undefined && none === undefined && !isSwitch)
      option.description += ` (default: ${kind === DURATION ? durationText(Number(standard)) : standard})`;
    if (!this.isOptional) option.makeOptionMandatory();
    return option;
  }

  private placeholder(): string {
    const { type, format, enum: values } = fieldSchema(this.schema);
    if (type === "array") return "list";
    if (this.flag.with !== undefined) return `${this.shown}=${this.flag.with}`;
    if (values !== undefined) return this.shown;
    if (format === "date") return "day";
    return type === "string" ? "text" : "number";
  }

  /** Returns the value that a text stands for. It is not checked yet. */
  read(given: string | boolean, now: number): unknown {
    const { name, schema, flag, shown, isArgument } = this;
    if (typeof given === "boolean") return flag.value ?? given;
    if (this.isPart) return fromText(schema, given.slice(given.indexOf("=") + 1));
    if (flag.with !== undefined) return given.split("=")[0];
    if (flag.none?.word === given) return flag.none.value ?? null;
    const kind = kindOf(name);
    if (kind === TIME) return expiryOf(given, now);
    if (kind === PAST && !isArgument) return pastOf(given, now);
    if (kind === DURATION) return durationMs(given, `--${shown}`, "24h") / 1_000;
    return fromText(schema, given);
  }
}

/** Creates the error for mistakes in the input. @param hint replaces the usual hint */
export type Refuse = (lines: readonly string[], hint?: string) => CliError;

export class CommandFields {
  private readonly operation: AnyOperation;
  private readonly row: CommandRow;
  private readonly noun: string | undefined;
  private readonly args: readonly Field[];
  private readonly flags: readonly Field[];
  /** The command's last word, such as `revoke`. */
  private readonly word: string;

  constructor(operation: AnyOperation, { noun }: Resource) {
    const row = operation.command!; // addResource passes only operations with a command
    const { supplies = [], flags = {} } = row;
    const isPaged = "cursor" in operation.input;
    // The command reads all pages, unless it has a flag for the limit.
    const isOfPages = (name: string) =>
      isPaged && (name === "cursor" || (name === "limit" && flags[name] === undefined));
    const all = Object.entries(operation.input as Record<string, z.ZodType>)
      .filter(([name]) => !supplies.includes(name) && !isOfPages(name))
      .map(([name, schema]) => new Field(name, schema, operation, row));
    this.operation = operation;
    this.row = row;
    this.noun = noun;
    this.args = all.filter(({ isArgument }) => isArgument);
    this.flags = all.filter(({ isArgument }) => !isArgument);
    this.word = row.words.split(" ").at(-1)!;
  }

  /** Adds a command with these arguments and flags to its group. */
  command(group: Command): Command {
    const args = this.args.map(({ shown, isOptional }) => (isOptional ? `[${shown}]` : `<${shown}>`));
    const command = group.command([this.word, ...args].join(" "));
    for (const field of this.flags) if (!field.isPart) command.addOption(field.option());
    return command;
  }

  /** Returns the text of each field that is given. @throws CliError if a change changes nothing */
  textsOf(words: readonly (string | undefined)[], given: Flags): Flags {
    const { args, flags, word } = this;
    const texts = Object.fromEntries([
      ...args.map(({ name }, i) => [name, words[i]]),
      ...flags.map(({ name, shown }) => [name, given[camelCase(shown)]]),
    ]);
    if (this.operation.route.startsWith("PATCH ") && flags.every(({ name }) => texts[name] === undefined))
      throw usage(
        `nothing to ${word}`,
        `name at least one of ${flags.map(({ shown }) => `--${shown}`).join(", ")}`,
      );
    return texts;
  }

  /** Do flags select rows of a list? */
  selects(texts: Flags): boolean {
    return this.flags.some(({ name }) => name !== "limit" && texts[name] !== undefined);
  }

  /** Converts texts to the operation's input. @throws CliError */
  parse(texts: Flags): Record<string, unknown> {
    const now = Date.now();
    const given = Object.fromEntries(
      [...this.args, ...this.flags].flatMap((field) => {
        const text = texts[field.name];
        return text === undefined ? [] : [[field.name, field.read(text, now)]];
      }),
    );
    const supplied = Object.fromEntries((this.row.supplies ?? []).map((name) => [name, true] as const));
    const read = z.strictObject(this.operation.input).omit(supplied).safeParse(given);
    if (read.success) return read.data;
    throw this.refuse(texts, issueLines(read.error, "input", given, 1));
  }

  /** Explains mistakes in terms of arguments and flags. */
  refuse(
    texts: Flags,
    lines: readonly string[],
    hint = `run \`inkling ${this.row.words} --help\` to see examples`,
  ): CliError {
    const fieldOf = (name: string) => [...this.args, ...this.flags].find((one) => one.name === name);
    const shown = lines.map((line) => {
      const plain = line
        .replaceAll("`", "")
        .replace("must be a date such as", "must be a duration such as 90d, a date such as");
      const [, name = "", rest = ""] = /^(\w+)(.*)$/s.exec(plain) ?? [];
      const field = fieldOf(name);
      if (field === undefined) return `  ${plain}`;
      const given = texts[name];
      const quoted =
        given === undefined || /[`"]/.test(line) ? "" : ` ${JSON.stringify(String(given).slice(0, 60))}`;
      return `  ${field.isArgument ? "" : "--"}${field.shown}${quoted}${rest}`;
    });
    const flagOf = (whole: string, name: string) => {
      const field = fieldOf(name);
      return field === undefined || field.isArgument ? whole : `\`--${field.shown}\``;
    };
    return usage([this.title(), ...shown].join("\n"), hint.replace(/`(\w+)`/g, flagOf));
  }

  private title(): string {
    const { noun, word, row } = this;
    const { input, route } = this.operation;
    const isVerb = noun !== undefined && !route.startsWith("GET ") && !(word in input);
    return isVerb ? `Cannot ${word} the ${noun}:` : `Cannot run \`inkling ${row.words}\`:`;
  }
}
