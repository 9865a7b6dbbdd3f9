// logs.ts: the formats of log lines, and which field of a line holds the client.
//
// in   one line, without its end; the format, and the field that is wanted
// out  the text of that field; "" where a line of the format names none; undefined: not a line of this format
// src  httpd.apache.org/docs/2.4/mod/mod_log_config.html; nginx.org/en/docs/http/ngx_http_log_module.html;
//      docs.aws.amazon.com (ALB, Classic Load Balancer access logs); docs.haproxy.org (8.2 Log formats);
//      RFC 3164, RFC 5424 (syslog); auth.c, packet.c, auth2.c of OpenSSH (its messages)
// cost one regular expression for each line; none reads a part of a line more often than a bounded number of times
//
// The client stands before everything that a request can hold. A field that a request can set (X-Forwarded-For) is read
// only when it is named.

import { addressIn } from "./cells.ts";
import { clientPath, memberAt, objectOf } from "./members-of.ts";

interface LogFormat {
  /** What writes it. */
  readonly title: string;
  /**
   * Fields of a line: `name`, `[name]`, `"name"`, `#name` (numbers), `name:port`; `name*` may hold spaces; those after
   * `?` may be missing. More may follow.
   */
  readonly fields: string;
}

const COMMON = 'client ident user* [time] "request" #status #bytes';

export const LOG_FORMATS = {
  vhost: { title: "nginx or Apache, virtual host first", fields: `vhost ${COMMON}` },
  combined: {
    title: "nginx or Apache, combined",
    fields: `${COMMON} "referer" "agent" ? "x_forwarded_for"`,
  },
  common: { title: "nginx or Apache, common", fields: COMMON },
  alb: {
    title: "AWS Application Load Balancer",
    fields:
      'type time elb client:port target #request_time #target_time #response_time #elb_status #target_status #received #sent "request" "agent"',
  },
  elb: {
    title: "AWS Classic Load Balancer",
    fields:
      'time elb client:port backend #request_time #backend_time #response_time #elb_status #backend_status #received #sent "request"',
  },
  haproxy: { title: "HAProxy, HTTP or TCP", fields: "client:port [time] frontend backend #timers" },
} as const satisfies Record<string, LogFormat>;
export type LogName = keyof typeof LOG_FORMATS;
export const LOG_NAMES = Object.keys(LOG_FORMATS) as LogName[];

/** Longer lines are none of a log: requests are limited to some kilobytes. */
export const MAX_LINE_BYTES = 64 * 1024;
const CLIENT = "client";

const FIELD = /^(?<open>[["#]?)(?<name>[a-z_]+)(?<spaces>\*?)(?<port>:port)?[\]"]?$/;

/** The names of a format's fields, in order. */
export function fieldNames(format: LogName): string[] {
  return LOG_FORMATS[format].fields.split(" ").flatMap((field) => FIELD.exec(field)?.groups?.name ?? []);
}

/** A line of the format, with one group: the field. */
function patternOf(format: LogName, wanted: string): RegExp {
  let isOptional = false;
  let source = "";
  for (const field of LOG_FORMATS[format].fields.split(" ")) {
    if (field === "?") {
      isOptional = true;
      continue;
    }
    const { open, name, spaces, port } = FIELD.exec(field)!.groups!;
    const group = (inner: string) => (name === wanted ? `(${inner})` : inner);
    const text =
      open === "["
        ? `\\[${group("\\d[^\\]]{0,60}")}\\]`
        : open === '"'
          ? `"${group('[^"\\\\]*(?:\\\\.[^"\\\\]*)*')}"`
          : open === "#"
            ? group("[-+0-9./]+")
            : port
              ? `\\[?${group("[^\\s\\[\\]]+?")}\\]?:\\d{1,5}`
              : spaces
                ? group(".{1,256}?")
                : group(name === CLIENT ? '[^\\s"{\\[,]+' : '[^\\s"{\\[]\\S*'); // a list is no peer
    const spaced = source === "" ? text : ` ${text}`;
    source += isOptional ? `(?:${spaced})?` : spaced;
  }
  return new RegExp(`^${source}(?:\\s|$)`);
}

/** Reads the wanted field of a line. */
export type ReadLine = (line: string) => string | undefined;

function patternReader(format: LogName, wanted: string): ReadLine {
  const pattern = patternOf(format, wanted);
  return (line) => {
    const found = pattern.exec(line);
    return found === null ? undefined : (found[1] ?? "");
  };
}

/** How the lines of one program in a syslog are written. */
export interface Program {
  readonly format: LogName | "ndjson" | "sshd";
  readonly ip: string;
}

/** What is read of lines, and how. */
export interface LineLayout {
  readonly format: LogName | "syslog";
  /** Name of a field. */
  readonly ip: string;
  /** In a syslog: by the program's name. */
  readonly programs?: Readonly<Record<string, Program>> | undefined;
}

export function lineReader({ format, ip, programs = {} }: LineLayout): ReadLine {
  if (format !== "syslog") return patternReader(format, ip);
  const readers = new Map(
    Object.entries({ ...KNOWN_PROGRAMS, ...programs }).map(([name, program]) => [
      name,
      programReader(program),
    ]),
  );
  return (line) => {
    const message = syslogMessage(line);
    return message && (readers.get(message.program)?.(message.text) ?? "");
  };
}

function programReader({ format, ip }: Program): ReadLine {
  if (format === "sshd") return sshdClient;
  if (format !== "ndjson") return patternReader(format, ip);
  return (text) => {
    const value = memberAt(objectOf(text), ip);
    return typeof value === "string" ? value : undefined;
  };
}

/** Programs whose lines are read also when there is none of them among the first. */
const SSHD: Program = { format: "sshd", ip: CLIENT };
const ACCESS: Program = { format: "common", ip: CLIENT };
const KNOWN_PROGRAMS: Readonly<Record<string, Program>> = {
  sshd: SSHD,
  "sshd-session": SSHD,
  haproxy: { format: "haproxy", ip: CLIENT },
  nginx: ACCESS,
  apache2: ACCESS,
  httpd: ACCESS,
};

/** RFC 3164 and journald with either kind of time; RFC 5424. */
const SYSLOG =
  /^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]{8,16}(?:Z|[+-]\d\d:?\d\d)?) \S{1,255} ([^\s:[\]]{1,64})(?:\[\d+\])?: /;
const SYSLOG_5424 =
  /^<\d{1,3}>1 \S{1,40} \S{1,255} (\S{1,48}) \S{1,128} \S{1,32} (?:-|(?:\[[^\]"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^\]"]*)*\])+) ?/;

interface Message {
  readonly program: string;
  readonly text: string;
}

function syslogMessage(line: string): Message | undefined {
  const found = SYSLOG.exec(line) ?? SYSLOG_5424.exec(line);
  if (found === null) return undefined;
  return { program: found[1]!, text: line.slice(found[0].length) };
}

/** Messages that begin with the address: what comes after it may be the client's words. */
const SSHD_FIRST =
  /^(?:(?:error: )?Received disconnect from|Unable to negotiate with|Connection (?:from|closed by|reset by)|Disconnected from|banner exchange: Connection from|(?:fatal|error|ssh_dispatch_run_fatal): Connection from) ([0-9a-fA-F.:]+?)(?: port \d|: )/;
/** Messages that end with it: what comes before it may be the client's words, such as a user's name. */
const SSHD_LAST =
  /^(?:Accepted|Failed|Postponed|Invalid user|Connection|Disconnected|Disconnecting|Bad protocol version|error: maximum authentication attempts|Did not receive).* ([0-9a-fA-F.:]+) port \d+(?: ssh2)?(?: \[preauth\]|: [\w-]+ SHA256:[\w+/=]+|: Too many authentication failures)?(?: \[preauth\])?$/;
const SSHD_OTHER =
  /^(?:(?:Invalid user|Did not receive).* from ([0-9a-fA-F.:]+)|User .* from ([0-9a-fA-F.:]+) not allowed because .*)$/;
const SSHD_PAM = /^pam_\w+\(sshd:\w+\): .*?; logname=\S* uid=\d+ euid=\d+ tty=\S* ruser=\S* rhost=(\S+)/;

function sshdClient(text: string): string | undefined {
  const found = SSHD_FIRST.exec(text) ?? SSHD_LAST.exec(text) ?? SSHD_OTHER.exec(text) ?? SSHD_PAM.exec(text);
  return found?.[1] ?? found?.[2];
}

/** More than half of lines have it. */
const most = (count: number, of: number) => count > of / 2;

/** The format of most of these lines; undefined: none of these. */
export function recognize(lines: readonly string[]): LineLayout | undefined {
  const format = logFormatOf(lines);
  if (format !== undefined) return { format, ip: CLIENT };
  const messages = lines.flatMap((line) => syslogMessage(line) ?? []);
  if (!most(messages.length, lines.length)) return undefined;
  return { format: "syslog", ip: CLIENT, programs: programsIn(messages) };
}

function logFormatOf(lines: readonly string[]): LogName | undefined {
  return LOG_NAMES.find((format) => {
    const read = patternReader(format, CLIENT);
    const clients = lines.flatMap((line) => read(line) ?? []);
    // The host of a line that begins with one may be an address too: the field after it decides.
    return (
      most(clients.length, lines.length) &&
      (format !== "vhost" || most(clients.filter(isAddress).length, clients.length))
    );
  });
}

const isAddress = (text: string) => addressIn(text) !== undefined;

function programsIn(messages: readonly Message[]): Record<string, Program> {
  const programs: Record<string, Program> = {};
  for (const name of new Set(messages.map(({ program }) => program))) {
    if (Object.hasOwn(KNOWN_PROGRAMS, name) && KNOWN_PROGRAMS[name] === SSHD) continue;
    const lines = messages.filter(({ program }) => program === name).map(({ text }) => text);
    const format = logFormatOf(lines);
    if (format !== undefined) programs[name] = { format, ip: CLIENT };
    else {
      const ip = clientPath(lines.map(objectOf), isAddress);
      if (ip !== undefined) programs[name] = { format: "ndjson", ip };
    }
  }
  return programs;
}
