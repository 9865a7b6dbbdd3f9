// guards.ts: networks that stand on lists by mistake, and which flags each kind of them may never have.
//
// in   the text of data/guards/*.csv: network,operator,kind,source
// out  Guards; the table GUARD_KINDS says what a kind takes away, and why
// err  parseGuards: Error naming the line; these files are ours, so a bad line is a defect, not a feed's fault

import { type Prefix, parsePrefix } from "@inkling/engine";
import type { GuardKind, NetworkClaims } from "../claims.ts";
import { ALL_FLAGS, IS_ABUSER, IS_PROXY } from "./flags.ts";

export interface Guard {
  readonly network: Prefix;
  readonly operator: string;
  readonly kind: GuardKind;
  /** Where the operator publishes it. */
  readonly source: string;
}

/** The files of this package that hold guards, below `data/guards/`. */
export const GUARD_FILES: readonly string[] = [
  "public-resolvers.csv",
  "crawlers.csv",
  "cdn.csv",
  "mail-senders.csv",
];

interface GuardRule {
  /** Bits of flags that a network of this kind never has. */
  readonly takes: number;
  readonly reason: string;
}

export const GUARD_KINDS: Readonly<Record<GuardKind, GuardRule>> = {
  "public-resolver": {
    takes: ALL_FLAGS,
    reason:
      "answers questions and sends no visitors; it is reported because its address is the easiest to forge",
  },
  crawler: {
    takes: ALL_FLAGS,
    reason: "the operator publishes the network as its crawler's alone; crawling is reported as scanning",
  },
  // Not is_proxy: people browse from inside these networks too (Cloudflare WARP leaves from 104.28.0.0/16).
  cdn: {
    takes: IS_ABUSER,
    reason: "millions of sites answer from it; a report is about one of them, or about someone behind it",
  },
  "mail-sender": {
    takes: IS_ABUSER | IS_PROXY,
    reason: "relays the mail of a billion people, some of it spam; nobody browses through it",
  },
};

/**
 * Reads one guard file.
 * @throws Error naming the line that is not network,operator,kind,source
 */
export function parseGuards(text: string): Guard[] {
  const guards: Guard[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (index === 0 || line === "" || line.startsWith("#")) continue;
    const [network = "", operator = "", kind = "", source = "", ...more] = line.split(",");
    const prefix = parsePrefix(network);
    if (
      prefix === undefined ||
      operator === "" ||
      !isGuardKind(kind) ||
      !source.startsWith("https://") ||
      more.length > 0
    )
      throw new Error(`guards: line ${index + 1} is not network,operator,kind,source: ${line}`);
    guards.push({ network: prefix, operator, kind, source });
  }
  return guards;
}

/** One claim for each kind, as of a feed that is named after the kind. */
export function guardClaims(guards: readonly Guard[]): NetworkClaims[] {
  return (Object.keys(GUARD_KINDS) as GuardKind[]).map((kind) => ({
    feed: `${kind}s`,
    subject: "guard",
    label: kind,
    networks: guards.filter((guard) => guard.kind === kind).map((guard) => guard.network),
  }));
}

function isGuardKind(text: string): text is GuardKind {
  return Object.hasOwn(GUARD_KINDS, text);
}
