// completion.ts: `inkling completion bash | zsh | fish`: a script with which a shell completes the tree of commands.
//
// out  subcommands, flags, and the values of flags that have a fixed set; files everywhere else

import { Argument, type Command } from "commander";
import type { Context } from "../runtime/command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

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

/** What may follow a command. */
interface Node {
  /** " data update": each word of the path after a space. */
  readonly path: string;
  readonly words: readonly (readonly [word: string, what: string])[];
  /** Flag -> its values. */
  readonly choices: readonly (readonly [flag: string, values: readonly string[]])[];
}

function nodes(command: Command, path = ""): Node[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  const words: [string, string][] = [
    ...command.commands.map((inner): [string, string] => [inner.name(), inner.description()]),
    ...options.flatMap(({ long, description }): [string, string][] => (long ? [[long, description]] : [])),
    ["--help", "print help"],
  ];
  const choices = options.flatMap(({ long, argChoices }): [string, readonly string[]][] =>
    long && argChoices ? [[long, argChoices]] : [],
  );
  const inner = command.commands.flatMap((each) => nodes(each, `${path} ${each.name()}`));
  return [{ path, words, choices }, ...inner];
}

/** How to use the script, and the script. */
export function completion(program: Command, shell: Shell): string {
  const all = nodes(program);
  return shell === "fish" ? fish(all) : bash(all, shell);
}

function bash(all: readonly Node[], shell: "bash" | "zsh"): string {
  const paths = all.slice(1).map(({ path }) => `"${path}"`);
  const values = all.flatMap(({ path, choices }) =>
    choices.map(([flag, of]) => `    "${path} ${flag}") words="${of.join(" ")}" ;;`),
  );
  const words = all.map(
    (node) => `      "${node.path}") words="${node.words.map(([word]) => word).join(" ")}" ;;`,
  );
  const use =
    shell === "bash"
      ? '# in ~/.bashrc: eval "$(inkling completion bash)"\n'
      : '# in ~/.zshrc: eval "$(inkling completion zsh)"\nautoload -U +X bashcompinit && bashcompinit\n';
  return `${use}_inkling() {
  local path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${paths.join(" | ")}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path \${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join("\n")}
    *) case "$path" in
${words.join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _inkling inkling
`;
}

function fish(all: readonly Node[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = all.flatMap(({ path, words, choices }) => {
    const here = `complete -c inkling -n "test (__inkling_path) = '${path}'"`;
    return words.map(([word, what]) => {
      const values = choices.find(([flag]) => flag === word)?.[1];
      const described = `-d ${quoted(what)}`;
      if (!word.startsWith("--")) return `${here} -f -a ${word} ${described}`;
      const of = values === undefined ? "" : ` -x -a ${quoted(values.join(" "))}`;
      return `${here} -l ${word.slice(2)} ${described}${of}`;
    });
  });
  const paths = all.slice(1).map(({ path }) => quoted(path));
  return `# inkling completion fish > ~/.config/fish/completions/inkling.fish
function __inkling_path
  set -l path ""
  for word in (commandline -opc)[2..]
    contains -- "$path $word" ${paths.join(" ")}; and set path "$path $word"
  end
  echo "$path"
end
${lines.join("\n")}
`;
}
