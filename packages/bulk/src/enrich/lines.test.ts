// Tests the fields of log lines as programs write them, and as attackers manipulate them.

import { describe, expect, test } from "bun:test";
import { fieldOf } from "./lines.ts";
import { planFor } from "./plan.ts";

const TIME = "[22/Nov/2026:10:00:00 +0000]";

/** Returns all fields of a line. */
function fields(line: string): string[] {
  const found: string[] = [];
  for (let field = fieldOf(line, 1); field !== undefined; field = fieldOf(line, found.length + 1))
    found.push(field);
  return found;
}

describe("fields of a line", () => {
  test.each<[what: string, line: string, want: string[]]>([
    [
      "nginx and Apache",
      `8.8.8.8 - frank ${TIME} "GET /?ip=1.1.1.1 HTTP/1.1" 200 612 "-" "curl/8.5 (x; y)" "1.1.1.1, 10.0.0.1"`,
      [
        "8.8.8.8",
        "-",
        "frank",
        TIME.slice(1, -1),
        "GET /?ip=1.1.1.1 HTTP/1.1",
        "200",
        "612",
        "-",
        "curl/8.5 (x; y)",
        "1.1.1.1, 10.0.0.1",
      ],
    ],
    [
      "Apache's virtual hosts",
      `9.9.9.9:80 8.8.8.8 - - ${TIME} "-"`,
      ["9.9.9.9:80", "8.8.8.8", "-", "-", TIME.slice(1, -1), "-"],
    ],
    [
      "HAProxy",
      `8.8.8.8:33317 ${TIME} web {a|b c} "GET /"`,
      ["8.8.8.8:33317", TIME.slice(1, -1), "web", "{a|b", "c}", "GET /"],
    ],
    ["several spaces and tabs", "  a\t\tb  c ", ["a", "b", "c"]],
    ["an address in brackets, with a port", "[2001:db8::1]:443 x", ["[2001:db8::1]:443", "x"]],
    ["an escaped quote", String.raw`"a \" b" c`, [String.raw`a \" b`, "c"]],
    ["an escaped backslash at the end", String.raw`"a \\" c`, [String.raw`a \\`, "c"]],
    ["a quote inside quotes", '"a"b" c', ['a"b', "c"]],
    ["a quote that never closes", '"a b 8.8.8.8', ['"a', "b", "8.8.8.8"]],
    ["a bracket that never closes", '[a "b c" [d', ["[a", "b c", "[d"]],
    ["empty quotes", '"" "-"', ["", "-"]],
    ["nothing", " \t", []],
  ])("%s", (_, line, want) => expect(fields(line)).toEqual(want));

  test("quotes and brackets that never close are read in linear time", () => {
    for (const part of ['"a ', "[a ", '"a', '\\" ', '" ', "] "])
      expect(fieldOf(`"${part.repeat(200_000)}`, 1_000_000)).toBeUndefined();
  });
});

describe("what is recognized as lines", () => {
  const LOG = `8.8.8.8 - - ${TIME} "GET /a,b;c HTTP/1.1" 200 612 "-" "Mozilla/5.0 (KHTML, like Gecko)"\n`;
  const format = (text: string, name = "-", options = {}) => planFor(text, name, options).format;
  test.each<[what: string, text: string, name: string, want: string]>([
    ["an access log with commas", LOG.repeat(3), "-", "lines"],
    ["a name that ends in .log", "x\n", "a.log", "lines"],
    ["a log that was rotated and compressed", "x\n", "a.log.1.gz", "lines"],
    [
      "IIS",
      `#Software: IIS\n#Fields: date c-ip\n2026-11-22 8.8.8.8\n2026-11-22 8.8.4.4\n2026-11-22 8.8.4.4\n`,
      "-",
      "lines",
    ],
    ["LTSV", "host:8.8.8.8\ttime:1\nhost:8.8.4.4\ttime:2\n", "-", "lines"],
    ["a table", "ip,n\n8.8.8.8,1\n", "-", "csv"],
    ["a column whose name has a space", "ip address\n8.8.8.8\n", "-", "csv"],
    ["addresses alone", "8.8.8.8\n8.8.4.4\n", "-", "csv"],
    ["a log in JSON", '{"ip":"8.8.8.8"}\n', "a.json", "ndjson"],
  ])("%s", (_, text, name, want) => expect(format(text, name)).toBe(want as "csv"));

  test("a JSON array and text without addresses are refused", () => {
    expect(() => format('[\n  {"ip": "8.8.8.8"},\n  {"ip": "8.8.4.4"}\n]\n')).toThrow(
      "a JSON array is not supported",
    );
    expect(() => format("some text\nwithout any\n")).toThrow("no column with IP addresses");
  });
  test("--field means lines, also in a file that looks like a table", () => {
    expect(planFor("8.8.8.8,x 8.8.4.4\n", "-", { field: 2 })).toMatchObject({
      format: "lines",
      ip: 2,
      title: "lines, the first public address in field 2",
    });
    expect(planFor(LOG, "-", {}).title).toBe("lines, the first public address of each line");
  });
  test("options for another format are refused", () => {
    expect(() => planFor("ip\n8.8.8.8\n", "a.csv", { field: 1 })).toThrow("--field is only for lines");
    expect(() => planFor(LOG, "a.log", { ipColumn: "client" })).toThrow("--ip-column: lines have no columns");
    expect(() => planFor(LOG, "a.log", { emailColumn: "1" })).toThrow(
      "--email-column: lines have no columns",
    );
  });
  test("several public addresses in most lines are pointed out, unless a field is named", () => {
    const vhost = `9.9.9.9:80 ${LOG}`.repeat(3);
    expect(planFor(vhost, "-", {}).othersTitles).toEqual([
      "most lines have more than one public address: the first one is looked up, unless you name a field with --field",
    ]);
    expect(planFor(vhost, "-", { field: 2 }).othersTitles).toEqual([]);
    expect(planFor(LOG, "-", {}).othersTitles).toEqual([]);
  });
});

describe("a hint for Excel", () => {
  test.each([
    ["sep=;\nip;n\n8.8.8.8;1\n", ";", 0],
    ['sep=;\r\n"a,b,c";ip\r\n1;8.8.8.8\r\n', ";", 1],
    ["sep=|\nip|n\n8.8.8.8|1\n", "|", 0],
    ["SEP=,\n8.8.8.8,1\n", ",", 0],
  ])("%p names the delimiter", (text, delimiter, ip) =>
    expect(planFor(text, "a.csv", {})).toMatchObject({ format: "csv", delimiter, ip, hasHint: true }),
  );
  test("without a hint there is none", () =>
    expect(planFor("sep,ip\n1,8.8.8.8\n", "a.csv", {}).hasHint).toBeUndefined());
});

test("line ends of old Macs are refused, with the command that converts them", () => {
  expect(() => planFor("ip,name\r8.8.8.8,a\r", "a.csv", {})).toThrow(
    expect.objectContaining({
      message: "lines end with CR, as in files of Excel for Mac",
      hint: "convert them: tr '\\r' '\\n' < IN.csv > OUT.csv",
      isUsage: true,
    }),
  );
});
