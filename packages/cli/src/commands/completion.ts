// completion.ts: `inkling completion bash | zsh | fish`: a script for the shell.

import { Argument, type Command } from "commander";
import type { Context } from "../runtime/context.ts";
import { completion, SHELLS, type Shell } from "../runtime/shell-completion.ts";

export function addCompletion(program: Command, { terminal }: Context): void {
  program
    .command("completion")
    .description("print a script with which your shell completes commands and flags")
    .addArgument(new Argument("<shell>").choices([...SHELLS]))
    .addHelpText(
      "after",
      `
Examples:
  eval "$(inkling completion bash)"                                     in ~/.bashrc; likewise zsh in ~/.zshrc
  inkling completion fish > ~/.config/fish/completions/inkling.fish`,
    )
    .action((shell: Shell) => terminal.out(completion(program, shell).trimEnd()));
}
