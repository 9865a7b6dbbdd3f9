import { describe, expect, test } from "bun:test";
import { FORMAT_NAMES } from "@inkling/bulk";
import { Command } from "commander";
import { makeProgram } from "../program.ts";
import { makeStyle } from "../terminal/terminal.ts";
import { completion, SHELLS } from "./completion.ts";

const context = {
  terminal: { out: () => {}, err: () => {}, live: false, columns: 80, style: makeStyle(false) },
  env: {},
  cwd: ".",
  version: "1.2.3",
  stopper: { signal: new AbortController().signal, release: () => {} },
  ending: { exitCode: 0 as const },
};
const program = await makeProgram(context);

/** Returns what bash offers for the last word. */
function offered(...words: string[]): string[] {
  const script = `${completion(program, "bash")}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_inkling
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, exitCode, stderr } = Bun.spawnSync(["bash", "-c", script]);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString().split("\n").filter(Boolean);
}

describe("bash", () => {
  test.each<[line: string, words: string[], want: string[]]>([
    ["a command", ["inkling", "enr"], ["enrich"]],
    ["a command of two words", ["inkling", "data", "roll"], ["rollback"]],
    ["a flag", ["inkling", "enrich", "x.csv", "--ip"], ["--ip-column"]],
    ["values of a flag", ["inkling", "enrich", "--format", ""], [...FORMAT_NAMES]],
    ["a flag after one with a value", ["inkling", "enrich", "--format", "csv", "--su"], ["--summary"]],
    ["what a key can be updated to", ["inkling", "keys", "update", "key_x", "--q"], ["--quota"]],
    ["nothing of another command", ["inkling", "keys", "--summ"], []],
  ])("offers %s", (_, words, want) => expect(offered(...words)).toEqual(want));
});

test.each([...SHELLS])("%s: every command is in the script", (shell) => {
  const script = completion(program, shell);
  for (const command of program.commands) expect(script).toContain(command.name());
  expect(script.split("\n")[0]).toContain(`inkling completion ${shell}`);
});

test("quotes in descriptions end nothing in fish", () => {
  const small = new Command("inkling");
  small.command("x").description("what's \\ this");
  expect(completion(small, "fish")).toContain("-a x -d 'what\\'s \\\\ this'");
});
