// Fuzzes the object with the ruleset of a channel. Only the signed text is returned.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { STARTER_RULESET } from "@inkling/contract";
import { sha256Hex } from "@inkling/data";
import { openStore, readChannelRuleset } from "@inkling/data/channel";
import { CHANNEL_PATHS, fetchRuleset, storeRuleset } from "../../../packages/data/src/channel/statement.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import type { Target } from "../target.ts";

const TEXT = `${STARTER_RULESET}\n# 東京\n`;
const SHA256 = sha256Hex(TEXT);

export default function channelRulesets(): Target {
  const [folder, dataDir] = [temporaryFolder(), temporaryFolder()];
  const store = openStore(folder, {})!;
  const object = join(folder, CHANNEL_PATHS.ruleset(SHA256));
  mkdirSync(dirname(object), { recursive: true });
  const { signal } = new AbortController();
  return {
    corpus: [Buffer.from(TEXT)],
    tokens: ["\ufeff", "\0", "[[rule]]"],
    check: async (bytes) => {
      writeFileSync(object, bytes);
      try {
        const fetched = await fetchRuleset(store, { number: 3, sha256: SHA256 }, signal);
        storeRuleset(dataDir, fetched);
      } catch (error) {
        const { name, fault } = error as { name: string; fault?: string };
        if (name !== "ChannelError") throw error;
        return String(fault);
      }
      if (readChannelRuleset(dataDir)?.text !== TEXT) throw new Error("this text was never signed");
      return "downloaded";
    },
  };
}
