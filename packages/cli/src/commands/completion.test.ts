import { describe, expect, test } from "bun:test";
import { FORMAT_NAMES } from "@inkling/bulk";
import { Command } from "commander";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../program.testing.ts";
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
inkling() { [[ "$1 $3" == "completion --ids" ]] && echo "$4-1"; }
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
    ["ids of feeds", ["inkling", "feeds", "enable", "f"], ["feeds-1"]],
    ["ids of keys", ["inkling", "keys", "revoke", "k"], ["keys-1"]],
    ["ids of overrides", ["inkling", "overrides", "remove", "o"], ["overrides-1"]],
    ["nothing of another command", ["inkling", "keys", "--summ"], []],
  ])("offers %s", (_, words, want) => expect(offered(...words)).toEqual(want));
});

test("the ids are those of the data folder", async () => {
  const cwd = temporaryFolder();
  const ids = async (of: string) =>
    (await runHere(["completion", "bash", "--ids", of], { cwd })).out.split("\n");
  expect(await ids("feeds")).toContain("tor-bulk-exits");
  const key = JSON.parse((await runHere(["keys", "create", "--json"], { cwd })).out);
  expect(await ids("keys")).toEqual([key.id, ""]);
  const added = await runHere(
    ["overrides", "add", "8.8.8.8", "--flag", "is_proxy=true", "--note", "x", "--json"],
    {
      cwd,
    },
  );
  expect(await ids("overrides")).toEqual([JSON.parse(added.out).id, ""]);
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
