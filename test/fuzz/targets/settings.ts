// Fuzzes inkling.toml and feeds.json. Settings are read, or refused with at least one problem; the same for the choice
// of feeds.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../../packages/cli/src/config/settings.ts";
import { SettingsError } from "../../../packages/cli/src/terminal/errors.ts";
import { FeedChoiceError, parseFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import type { Target } from "../target.ts";

const FEEDS = `[[feed]]
id = "office-vpn"
format = "networks"
claims = "vpn"
file = "vpn.txt"

[[feed]]
id = "acme"
format = "json"
path = "$.items[*].ip"
claims = "attacker"
url = "https://lists.example/bad.json"
weight = 1
max_age_days = 3
`;
const PLAIN = `port = 8080
workers = 2
burst = 17
rate = 2.5
trusted_proxies = ["10.0.0.0/8", "::1"]
database_url = "postgres://inkling:secret@db.internal/inkling"
log_level = "info"
`;
const CHOICE = JSON.stringify({
  enabled: ["ip2proxy-lite"],
  disabled: [],
  added: [{ id: "office-vpn", format: "networks", claims: "vpn", file: "/etc/vpn.txt" }],
});

export default function settings(): Target {
  const folder = temporaryFolder();
  const path = join(folder, "inkling.toml");
  const example = readFileSync(join(import.meta.dir, "../../../deploy/systemd/inkling.toml"), "utf8");
  return {
    corpus: [PLAIN, FEEDS, `${PLAIN}${FEEDS}`, example, CHOICE].map((text) => Buffer.from(text)),
    tokens: [
      "[[feed]]",
      "[feed]",
      "[[",
      '"""',
      "'''",
      " = ",
      "= [",
      "{ a = 1 }",
      "inf",
      "2026-01-01T00:00:00Z",
      "\\u0000",
      "__proto__ = 1",
      "[[[[[[[[",
      '"added":[',
      "0x7fffffffffffffff",
    ],
    check: (input) => {
      const text = Buffer.from(input).toString("utf8");
      if (text.startsWith("{")) {
        try {
          const { enabled, added = [] } = parseFeedChoice(text, "feeds.json");
          return enabled.length + added.length > 0 ? "choice" : "no choice";
        } catch (error) {
          if (!(error instanceof FeedChoiceError)) throw error;
          return "choice refused";
        }
      }
      writeFileSync(path, text);
      try {
        loadSettings({ flags: {}, env: {}, cwd: folder });
        return "settings";
      } catch (error) {
        if (!(error instanceof SettingsError) || error.message.trim() === "") throw error;
        return "refused";
      }
    },
  };
}
