// logs.ts: defines the formats of log lines, and which field of a line contains the client's address.
//
// in   one line without its end; the format, and the name of the field to read
// out  the text of that field; "" if a line of the format lacks it; undefined if the line is not in this format
// src  httpd.apache.org/docs/2.4/mod/mod_log_config.html; nginx.org/en/docs/http/ngx_http_log_module.html;
//      docs.aws.amazon.com (ALB access logs); docs.haproxy.org (8.2 Log formats)
// cost one regular expression per line, which reads no part of a line more than a bounded number of times
//
// In each format, the client's address comes before everything that a request can set. A field that a request can set
// (X-Forwarded-For) is read only if the user names it.

interface LogFormat {
  /** The program that writes the format. */
  readonly title: string;
  /**
   * The fields of a line: `name`, `[name]`, `"name"`, `#name` (numbers), `name:port`. `name*` may contain spaces, and
   * fields after `?` may be missing. A line may have more fields.
   */
  readonly fields: string;
}

const COMMON = 'client ident user* [time] "request" #status #bytes';

export const LOG_FORMATS = {
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
  haproxy: { title: "HAProxy, HTTP or TCP", fields: "client:port [time] frontend backend #timers" },
} as const satisfies Record<string, LogFormat>;
export type LogName = keyof typeof LOG_FORMATS;
export const LOG_NAMES = Object.keys(LOG_FORMATS) as LogName[];

/**
 * Maximum length of a log line in bytes. Requests are limited to a few kilobytes, so longer lines are not log lines.
 */
export const MAX_LINE_BYTES = 64 * 1024;
/** The name of the field that contains the client's address, in every format. */
export const CLIENT = "client";

const FIELD = /^(?<open>[["#]?)(?<name>[a-z_]+)(?<spaces>\*?)(?<port>:port)?[\]"]?$/;

/** Returns the names of a format's fields, in order. */
export function fieldNames(format: LogName): string[] {
  return LOG_FORMATS[format].fields.split(" ").flatMap((field) => FIELD.exec(field)?.groups?.name ?? []);
}

/** Returns a pattern that matches a line of the format, with one group for the field. */
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
                : group(name === CLIENT ? '[^\\s"{\\[,]+' : '[^\\s"{\\[]\\S*'); // a list cannot be the peer's address
    const spaced = source === "" ? text : ` ${text}`;
    source += isOptional ? `(?:${spaced})?` : spaced;
  }
  return new RegExp(`^${source}(?:\\s|$)`);
}

/** Reads one field of a line. */
export type ReadLine = (line: string) => string | undefined;

/** Returns a reader of one field: CLIENT unless another field is named. */
export function lineReader(format: LogName, field: string = CLIENT): ReadLine {
  const pattern = patternOf(format, field);
  return (line) => {
    const found = pattern.exec(line);
    return found === null ? undefined : (found[1] ?? "");
  };
}

/** Returns the format of more than half of these lines, or undefined if there is no such format. */
export function recognize(lines: readonly string[]): LogName | undefined {
  return LOG_NAMES.find((format) => {
    const read = lineReader(format);
    return lines.filter((line) => read(line) !== undefined).length > lines.length / 2;
  });
}
