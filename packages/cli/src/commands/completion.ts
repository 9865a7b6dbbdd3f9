// completion.ts: `inkling completion bash | zsh | fish` prints a script that lets a shell complete the command line.

import type { Settings } from "@inkling/contract";
import { Argument, type Command, Option } from "commander";
import { addAction, type Context } from "../runtime/command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** The ids that a shell can complete. The code for each source is loaded on demand. */
const IDS = {
  "admin-tokens": async (settings: Settings): Promise<string[]> => {
    const { withExistingStore } = await import("../runtime/store.ts");
    return withExistingStore(settings, async (store) =>
      (await store.adminToken.list()).map(({ name }) => name),
    );
  },
  feeds: async (settings: Settings): Promise<string[]> =>
    (await import("../runtime/feeds.ts")).allFeeds(settings).map(({ id }) => id),
  "added-feeds": async ({ dataDir }: Settings): Promise<string[]> =>
    ((await import("../runtime/feeds.ts")).choiceOf(dataDir).added ?? []).map(({ id }) => id),
  keys: async (settings: Settings): Promise<string[]> => {
    const { withExistingStore } = await import("../runtime/store.ts");
    return withExistingStore(settings, async (store) => (await store.listKeys()).map(({ id }) => id));
  },
  overrides: async (settings: Settings): Promise<string[]> => {
    const { withExistingStore } = await import("../runtime/store.ts");
    return withExistingStore(settings, async (store) =>
      (await store.overrides.load()).overrides.map(({ id }) => id),
    );
  },
} as const;
type IdSource = keyof typeof IDS;

/** Commands that take an id as their argument. */
const ID_ARGUMENTS: Readonly<Record<string, IdSource>> = {
  " admin-tokens revoke": "admin-tokens",
  " feeds check": "feeds",
  " feeds disable": "feeds",
  " feeds enable": "feeds",
  " feeds remove": "added-feeds",
  " keys revoke": "keys",
  " keys rotate": "keys",
  " keys update": "keys",
  " overrides remove": "overrides",
};

export function addCompletion(program: Command, context: Context): void {
  const { terminal } = context;
  const command = program
    .command("completion")
    .description("print a script that lets your shell complete commands and flags")
    .addArgument(new Argument("<shell>").choices([...SHELLS]))
    .addOption(new Option("--ids <of>", "print these ids, one per line").choices(Object.keys(IDS)).hideHelp())
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
  addAction(command, context, ["dataDir"], async ({ settings, flags }, shell: string) => {
    if (flags.ids === undefined) return terminal.out(completion(program, shell as Shell).trimEnd());
    for (const id of await IDS[flags.ids as IdSource](settings)) terminal.out(id);
  });
}

/** The words that may follow a command's name. */
interface Node {
  /** The command's path, with a space before each word: " data update". */
  readonly path: string;
  readonly words: readonly (readonly [word: string, what: string])[];
  /** Each flag with its possible values. */
  readonly choices: readonly (readonly [flag: string, values: readonly string[]])[];
  readonly ids: IdSource | undefined;
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
  return [{ path, words, choices, ids: ID_ARGUMENTS[path] }, ...inner];
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
    (node) =>
      `      "${node.path}") words="${node.words.map(([word]) => word).join(" ")}"${bashIds(node)} ;;`,
  );
  const use =
    shell === "bash"
      ? '# in ~/.bashrc: eval "$(inkling completion bash)"\n'
      : '# in ~/.zshrc: eval "$(inkling completion zsh)"\nautoload -U +X bashcompinit && bashcompinit\n';
  return `${use}_inkling() {
  local path="" words="" cmd="\${COMP_WORDS[0]}" cur="\${COMP_WORDS[COMP_CWORD]}" i
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

/**
 * Returns shell code that adds the ids. It adds none while a flag is being typed, because running the command takes a
 * quarter of a second.
 */
const bashIds = ({ ids }: Node) =>
  ids === undefined
    ? ""
    : `; [[ $cur == -* ]] || words+=" $("$cmd" completion bash --ids ${ids} 2>/dev/null)"`;

function fish(all: readonly Node[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = all.flatMap(({ path, words, choices, ids }) => {
    const here = `complete -c inkling -n "test (__inkling_path) = '${path}'"`;
    const known =
      ids === undefined ? [] : [`${here} -f -a '(inkling completion fish --ids ${ids} 2>/dev/null)'`];
    const flags = words.map(([word, what]) => {
      const values = choices.find(([flag]) => flag === word)?.[1];
      const described = `-d ${quoted(what)}`;
      if (!word.startsWith("--")) return `${here} -f -a ${word} ${described}`;
      const of = values === undefined ? "" : ` -x -a ${quoted(values.join(" "))}`;
      return `${here} -l ${word.slice(2)} ${described}${of}`;
    });
    return [...known, ...flags];
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
