// texts.ts: joins the error messages of both APIs, the settings and the commands into one text.

import { join } from "node:path";
import { refusals } from "./api.ts";
import { commandMistakes, type Mistake, settingMistakes } from "./commands.ts";

export const RECORDED = join(import.meta.dir, "texts.md");

export async function allTexts(): Promise<string> {
  const parts = Object.entries(await refusals()).map(([api, list]) => {
    const entries = list.map(({ code, what, lines }) => `${code}: ${what}\n${indented(lines.join("\n"))}`);
    return `## ${api}\n\n${entries.join("\n\n")}\n`;
  });
  parts.push(
    `## Settings\n\n${shown(await settingMistakes())}\n`,
    `## Commands\n\n${shown(await commandMistakes())}\n`,
  );
  return `# Error messages\n\nRecorded by \`npx bun test/texts/record.ts\`.\n\n${parts.join("\n")}`
    .replace(/\b(ovr|key)_[0-9A-Za-z]{16}\b/g, "$1_…")
    .replace(/sqlite:\/\/\S*?DIR/g, "sqlite://DIR");
}

const indented = (text: string) => text.replace(/^(?=.)/gm, "    ");
const shown = (mistakes: readonly Mistake[]) =>
  mistakes.map(({ line, code, text }) => `${line} (${code})\n${indented(text)}`).join("\n\n");
