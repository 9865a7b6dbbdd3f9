// completion.ts: `inkling completion bash | zsh | fish` prints a script that lets a shell complete the command line.

import { Argument, type Command } from "commander";
import type { Context } from "../runtime/command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

export function addCompletion(program: Command, context: Context): void {
  const command = program
    .command("completion")
    .description("print a script that lets your shell complete commands and flags")
    .addArgument(new Argument("<shell>").choices([...SHELLS]))
    .addHelpText(
      "after",
      `
In a clone, add \`inkling\` to your PATH first:
  export PATH=$PWD/node_modules/.bin:$PATH

Examples:
  eval "$(inkling completion bash)"                                     in ~/.bashrc
  eval "$(inkling completion zsh)"                                      in ~/.zshrc
  inkling completion fish > ~/.config/fish/completions/inkling.fish`,
    );
  command.action((shell: Shell) => context.terminal.out(completion(program, shell).trimEnd()));
}

/** The words that may follow a command's name. */
interface Node {
  /** The command's path, with a space before each word: " data update". */
  readonly path: string;
  readonly words: readonly (readonly [word: string, what: string])[];
  /** Each flag with its possible values. */
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

/** Returns the script. It begins with comments that show how to use it. */
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
  local path="" words="" cur="\${COMP_WORDS[COMP_CWORD]}" i
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
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
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
