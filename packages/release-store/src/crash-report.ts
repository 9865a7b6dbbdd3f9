// crash-report.ts: what is kept of a process's last words, such as the runtime's report of a crash.
//
// in   what it wrote to standard error
// out  few lines, for the log: which version, what happened; no path, link, argument, key or address

const MAX_LINES = 12;
const MAX_LINE = 200;
/** Paths and links; what may be a key, an email address or an IP address. */
const PRIVATE = /[/\\@]|ink_|\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f]*:/i;
/** Decoration, and the questions that the runtime itself asks users. */
const IDLE = /^(=+$|Args:|Features:|Builtins:|oh no: |To send a |please file )/;

export function crashReport(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !IDLE.test(line) && !PRIVATE.test(line))
    .slice(0, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE));
}
