// channel-fault-table.ts: generates the table of a channel's faults in docs/several-hosts.md from their rows.

import { CHANNEL_FAULTS } from "@inkling/data/channel";
import { type GeneratedSection, markdownTable } from "./generated.ts";

export function channelFaultTable(): GeneratedSection[] {
  const lines = Object.entries(CHANNEL_FAULTS).map(([fault, { happened, fix }]) => [
    `\`${fault}\``,
    sentence(happened),
    sentence(fix),
  ]);
  const content = markdownTable(["fault", "what happened", "what to do"], lines);
  return [{ path: "docs/several-hosts.md", section: "channel-faults", content }];
}

const sentence = (text: string) => `${text[0]!.toUpperCase()}${text.slice(1)}.`;
