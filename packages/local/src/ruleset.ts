// ruleset.ts: follows the ruleset that the channel brings into the data folder. Runs in the thread of
// release-watcher.ts.

import { statSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, Live, type Loaded, messageOf, SnapshotFile } from "@inkling/data";
import { type ChannelRuleset, parseChannelRuleset, readChannelRuleset } from "@inkling/data/channel";

const POLL_MS = 1_000;
const LONGEST_MS = 60_000;

/** A ruleset that can be evaluated, or the reason why it cannot be evaluated. */
export type RulesetMessage =
  | ({ readonly type: "ruleset" } & ChannelRuleset)
  | { readonly type: "ruleset-refused"; readonly reason: string };

export function followRuleset(
  dataDir: string,
  report: (message: RulesetMessage) => void,
): Live<ChannelRuleset | undefined> {
  const refuse = (reason: string) => report({ type: "ruleset-refused", reason });
  const path = join(dataDir, DATA_FOLDER.channelRuleset);
  /** Returns the version of the file. Every new ruleset replaces the file. */
  const version = () => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined ? "" : `${found.mtimeMs} ${found.ino}`;
  };
  return new Live<ChannelRuleset | undefined>({
    initial: undefined,
    source: { version, load: () => ({ version: version(), value: readChannelRuleset(dataDir) }) },
    apply: async (ruleset, { before }) => {
      if (ruleset === undefined || (ruleset.number === before?.number && ruleset.text === before.text))
        return;
      await requireEvaluable(ruleset);
      report({ type: "ruleset", ...ruleset });
    },
    onChecked: (error, before) => {
      if (error !== undefined && error.message !== before?.message) refuse(error.message);
    },
    pollMs: POLL_MS,
    longestWaitMs: LONGEST_MS,
    snapshot: new SnapshotFile<ChannelRuleset | undefined>({
      path: join(dataDir, DATA_FOLDER.appliedRuleset),
      now: Date.now,
      onFailure: refuse,
      parse: (text) => loaded(parseChannelRuleset(text)),
      print: ({ value }) => `${JSON.stringify(value)}\n`,
    }),
  });
}

const loaded = (value: ChannelRuleset): Loaded<ChannelRuleset> => ({ version: String(value.number), value });

async function requireEvaluable({ number, text }: ChannelRuleset): Promise<void> {
  const { parseRuleset } = await import("@inkling/engine/assess");
  try {
    parseRuleset(text, number);
  } catch (error) {
    const reason = `this version cannot evaluate the channel's ruleset ${number}: ${messageOf(error)}`;
    throw new Error(`${reason}. If a newer version wrote it, update @inkling/local`, { cause: error });
  }
}
