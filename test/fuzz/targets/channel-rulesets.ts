// Fuzzes the ruleset of a channel: the object in its store, and the copy in the data folder. Only the signed text is
// returned, and a damaged copy is downloaded again or refused.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { STARTER_RULESET } from "@inkling/contract";
import { sha256Hex } from "@inkling/data";
import { openStore, parseChannelRuleset, readChannelRuleset } from "@inkling/data/channel";
import { fetchRuleset, storeRuleset } from "../../../packages/data/src/channel/channel-ruleset.ts";
import { CHANNEL_PATHS } from "../../../packages/data/src/channel/statement.ts";
import { DATA_FOLDER } from "../../../packages/data/src/layout.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import type { Target } from "../target.ts";

const TEXT = `${STARTER_RULESET}\n# 東京\n`;
const SHA256 = sha256Hex(TEXT);
/** The first byte of an input selects what the rest replaces. */
const [OBJECT, COPY] = [0, 1];

export default function channelRulesets(): Target {
  const [folder, dataDir] = [temporaryFolder(), temporaryFolder()];
  const store = openStore(folder, {})!;
  const object = join(folder, CHANNEL_PATHS.ruleset(SHA256));
  const copy = join(dataDir, DATA_FOLDER.channelRuleset);
  mkdirSync(dirname(object), { recursive: true });
  const { signal } = new AbortController();
  const input = (first: number, text: string) => Buffer.concat([Uint8Array.of(first), Buffer.from(text)]);
  const stored = JSON.stringify({ number: 3, text: TEXT });
  return {
    corpus: [input(OBJECT, TEXT), input(COPY, stored), input(COPY, JSON.stringify({ number: 1, text: "" }))],
    tokens: [
      '"number":',
      '"text":"',
      '"__proto__":{}',
      "1e999",
      "-1",
      "null",
      "\\ud800",
      "\ufeff",
      "\0",
      "[[rule]]",
    ],
    check: async (bytes) => {
      const isCopy = (bytes[0] ?? OBJECT) % 2 === COPY;
      rmSync(copy, { force: true });
      writeFileSync(object, isCopy ? TEXT : bytes.subarray(1));
      if (isCopy) writeFileSync(copy, bytes.subarray(1));
      let outcome = "downloaded";
      try {
        const fetched = await fetchRuleset(store, dataDir, { number: 3, sha256: SHA256 }, signal);
        const found = fetched ?? readChannelRuleset(dataDir)!;
        if (found.text !== TEXT || found.number !== 3) throw new Error(`never signed: ${found.text}`);
        if (fetched === undefined) outcome = "up to date";
        else storeRuleset(dataDir, fetched);
      } catch (error) {
        const { name, fault } = error as { name: string; fault?: string };
        if (isCopy || name !== "ChannelError") throw error;
        return String(fault);
      }
      if (JSON.stringify(readChannelRuleset(dataDir)) !== JSON.stringify(parseChannelRuleset(stored)))
        throw new Error("the copy is not the ruleset");
      return outcome;
    },
  };
}
