// log.ts: writes the log, one JSON object per line.
//
// A line contains the route's template, but never the value, the query, a key's token or an email address. Access lines
// are buffered for up to 200 ms, so that one write serves many requests. Other lines are written immediately.

import type { LogEvent, LogLevel, ProblemCode } from "@inkling/contract";
import type { EpochMs } from "@inkling/store/keys/key";

interface LogOptions {
  readonly level: LogLevel;
  /** Writes whole lines. */
  readonly write: (lines: string) => void;
  readonly now: () => EpochMs;
}

interface AccessLine {
  readonly method: string;
  /** The route's template, such as "/v1/ip-intel/geolocate/{ip}". */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly keyId: string | undefined;
  readonly requestId: string;
  readonly traceId?: string | undefined;
  readonly values?: number | undefined;
  readonly code?: ProblemCode | undefined;
}

const FLUSH_MS = 200;
const FLUSH_CHARACTERS = 64 * 1024;

export class Log {
  level: LogLevel;
  private readonly options: LogOptions;
  private pending = "";
  private timeOf = Number.NaN;
  private timeText = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LogOptions) {
    this.options = options;
    this.level = options.level;
  }

  /** Callers check this before they build an access line. */
  get hasAccess(): boolean {
    return this.level === "access";
  }

  access(line: AccessLine): void {
    const time = this.time();
    // Nothing needs escaping, because Inkling created or checked every field. The method is one of a fixed list.
    this.pending += `{"time":"${time}","level":"access","method":"${line.method}","route":"${line.route}","status":${line.status}${line.code === undefined ? "" : `,"code":"${line.code}"`},"ms":${millis(line.ms)}${line.keyId === undefined ? "" : `,"key":"${line.keyId}"`}${line.values === undefined ? "" : `,"values":${line.values}`},"request_id":"${line.requestId}"${line.traceId === undefined ? "" : `,"trace_id":"${line.traceId}"`}}\n`;
    if (this.pending.length >= FLUSH_CHARACTERS) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  info(event: LogEvent<"info">, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.level !== "error") this.line("info", event, fields);
  }

  /** Logs, at every log level, something that an operator explicitly requested. */
  record(event: LogEvent<"info">, fields: Readonly<Record<string, unknown>>): void {
    this.line("info", event, fields);
  }

  error(event: LogEvent<"error">, fields: Readonly<Record<string, unknown>> = {}): void {
    this.line("error", event, fields);
  }

  /**
   * Logs an unexpected error with its stack.
   * @param secrets texts from the request that must not appear in the log, such as its value
   */
  crash(
    event: LogEvent<"error">,
    error: unknown,
    secrets: readonly string[],
    fields: Readonly<Record<string, unknown>> = {},
  ): void {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
    const frames = (stack ?? "").split("\n").filter((frame) => /^\s*at /.test(frame));
    this.line("error", event, {
      ...fields,
      error: `${name}: ${scrub(message, secrets)}`,
      stack: frames.map((frame) => frame.trim()),
    });
  }

  /** Writes the buffered lines. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending === "") return;
    const lines = this.pending;
    this.pending = "";
    this.options.write(lines);
  }

  /** Returns the time as ISO 8601, formatted once per millisecond. */
  private time(): string {
    const now = this.options.now();
    if (now !== this.timeOf) {
      this.timeOf = now;
      this.timeText = new Date(now).toISOString();
    }
    return this.timeText;
  }

  private line(level: LogLevel, event: string, fields: Readonly<Record<string, unknown>>): void {
    this.flush(); // keeps the lines in order
    const time = this.time();
    this.options.write(`${JSON.stringify({ time, level, event, ...fields })}\n`);
  }
}

const THOUSANDTHS = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0"));

/** Returns the same text as toFixed(3) in a tenth of the time. */
function millis(ms: number): string {
  const micros = Math.round(ms * 1000);
  return `${Math.floor(micros / 1000)}.${THOUSANDTHS[micros % 1000]}`;
}

const TOKEN = /ink_(live|test|admin)_[0-9A-Za-z_]*/g;
const EMAIL = /[^\s"'<>]*@[^\s"'<>]*/g;

/** Removes what must not be logged: the given texts, and anything that looks like a key or an email address. */
export function scrub(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== "") clean = clean.replaceAll(secret, "[removed]");
  }
  return clean.replace(TOKEN, "[removed]").replace(EMAIL, "[removed]");
}
