// crash-report.ts: extracts the useful lines from a process's last output, such as the runtime's crash report.

const MAX_LINES = 12;
const MAX_LINE = 200;
/** Paths, links, and text that may be a key, an email address or an IP address. */
const PRIVATE = /[/\\@]|ink_|\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f]*:/i;
/** Decoration, and requests from the runtime to its users. */
const IDLE = /^(=+$|Args:|Features:|Builtins:|oh no: |To send a |please file )/;

export function crashReport(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !IDLE.test(line) && !PRIVATE.test(line))
    .slice(0, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE));
}
