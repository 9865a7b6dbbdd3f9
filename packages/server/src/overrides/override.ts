// override.ts: an operator's own verdict on an address, network, domain or email address, as it is requested.
//
// in   unknown input: admin API, command line, an imported file
// out  NewOverride, its value in normal form
// err  OverrideInputError with every problem
// src  docs/overrides.md
// note An email address is kept as the SHA-256 of its normal form only, and no message quotes one.

import {
  FLAGS_OF,
  formatIp,
  formatPrefix,
  isSpecialUseDomain,
  issueLines,
  type NewOverride,
  nearest,
  normalMailbox,
  OVERRIDE_FLAGS,
  type OverrideFlag,
  type OverrideKind,
  type OverrideTarget,
  type Prefix,
  parseEmail,
  parseIp,
  parsePrefix,
  publicSuffix,
  specialUse,
  toAsciiDomain,
  unwrapIpv4,
  withoutHostBits,
} from "@inkling/engine";
import { sha256Hex } from "@inkling/release-store";
import { z } from "zod";
import type { EpochMs } from "../keys/key.ts";
import { isoTime, oneLine } from "../text/fields.ts";

/** As many overrides may be active: each change reads them all again, in every process. */
export const MAX_OVERRIDES = 10_000;
const MAX_NOTE = 500;
export const MAX_AUTHOR = 100;
/** TOO_WIDE: it needs `force`, CONTRADICTS: rows of one file do; nothing else is wrong. */
export type OverrideInputCode = "INVALID" | "TOO_WIDE" | "CONTRADICTS";

/** An override cannot be made as requested. `problems` has a line for each thing that is wrong. */
export class OverrideInputError extends Error {
  readonly problems: readonly string[];
  readonly code: OverrideInputCode;
  /** Would `force` solve one of the problems at least? */
  readonly needsForce: boolean;
  constructor(
    problems: readonly string[],
    code: OverrideInputCode = "INVALID",
    needsForce = code === "TOO_WIDE",
  ) {
    super(problems.join("; "));
    this.name = "OverrideInputError";
    this.problems = problems;
    this.code = code;
    this.needsForce = needsForce;
  }
}

/** Older exports and programs may still have `mute`. */
const NO_MUTES = "`mute` was removed: an override now forces a flag. Use `flag` and `verdict` instead.";

/** An override as requested. */
export const newOverrideSchema = z.strictObject(
  {
    value: z.string("must be text").min(1, "must not be empty").max(400, "is too long"),
    flag: z.string(`must be one of ${OVERRIDE_FLAGS.join(", ")}`).max(100),
    verdict: z.boolean("must be true or false"),
    note: oneLine(MAX_NOTE),
    author: oneLine(MAX_AUTHOR).optional(),
    expires_at: isoTime.nullish(),
    force: z.boolean().optional(),
  },
  {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" && keys?.includes("mute") ? NO_MUTES : undefined,
  },
);

export interface OverrideContext {
  readonly now: EpochMs;
  /** Where the input has no author. */
  readonly author: string;
}

/** @throws OverrideInputError with every problem */
export function parseNewOverride(input: unknown, context: OverrideContext): NewOverride {
  const result = newOverrideSchema.safeParse(input);
  if (!result.success) throw new OverrideInputError(issueLines(result.error, "override", input));
  const { data } = result;
  const problems: string[] = [];
  const target = readTarget(data.value, problems);
  const flag = readFlag(data.flag, target?.kind, problems);
  const expiresAt = data.expires_at ?? undefined;
  if (expiresAt !== undefined && expiresAt <= context.now) problems.push("expires_at: is in the past");
  if (target === undefined || flag === undefined || problems.length > 0)
    throw new OverrideInputError(problems);
  if (target.tooWide !== undefined && data.force !== true) {
    throw new OverrideInputError([`value: ${target.tooWide}`], "TOO_WIDE");
  }
  const { kind, value } = target;
  const { verdict, note, author = context.author } = data;
  return { kind, value, flag, verdict, note, author, expiresAt };
}

function readFlag(
  flag: string,
  kind: OverrideKind | undefined,
  problems: string[],
): OverrideFlag | undefined {
  const known = OVERRIDE_FLAGS.find((name) => name === flag);
  if (known === undefined) {
    const near = nearest(flag, OVERRIDE_FLAGS);
    const help = near === undefined ? `: there are ${OVERRIDE_FLAGS.join(", ")}` : `; did you mean ${near}?`;
    problems.push(`flag: there is no flag "${flag}"${help}`);
  } else if (kind !== undefined && !FLAGS_OF[kind].includes(known)) {
    problems.push(`flag: ${known} is not a flag of ${KIND_WORDS[kind]}: use ${FLAGS_OF[kind].join(", ")}`);
  }
  return known;
}

const KIND_WORDS: Readonly<Record<OverrideKind, string>> = {
  address: "an address",
  network: "a network",
  domain: "a domain",
  email_hash: "an email address",
};

/** Networks with fewer bits, and public suffixes, need `force`. */
const WIDEST = { 4: 16, 6: 32 } as const;

interface ReadTarget extends OverrideTarget {
  /** Why it needs `force`. */
  readonly tooWide?: string;
}

const HASH = /^[0-9a-f]{64}$/i;
/** Whatever could be meant as an address or a network: digits and dots, or a colon. */
const ADDRESS_LIKE = /^[0-9.]+(\/|$)|:/;

/** @param problems gets a line for what is wrong */
function readTarget(text: string, problems: string[]): ReadTarget | undefined {
  const refuse = (problem: string) => {
    problems.push(`value: ${problem}`);
    return undefined;
  };
  if (text.includes("@")) {
    const hash = emailHash(text);
    return hash === undefined ? refuse("is no email address") : { kind: "email_hash", value: hash };
  }
  if (HASH.test(text)) return { kind: "email_hash", value: text.toLowerCase() };
  if (ADDRESS_LIKE.test(text) || text.includes("/")) return readNetwork(text, refuse);
  return readDomain(text, refuse);
}

type Refuse = (problem: string) => undefined;

function readNetwork(text: string, refuse: Refuse): ReadTarget | undefined {
  const address = text.includes("/") ? undefined : parseIp(text);
  if (address !== undefined) {
    unwrapIpv4(address); // as lookups do
    const reserved = specialUse(address);
    if (reserved !== undefined) return refuse(`is a ${reserved.use} address: it is never looked up`);
    return { kind: "address", value: formatIp(address) };
  }
  const network = parsePrefix(text);
  if (network === undefined) {
    const meant = withoutHostBits(text);
    if (meant !== undefined) return refuse(`\`${text}\` has host bits set. Use \`${meant}\``);
    return refuse(
      "is no address or network: write 203.0.114.9, 203.0.114.0/24 or 2a00:1450::/32, with no bits set after the prefix",
    );
  }
  const { family } = network.address;
  const width = family === 4 ? 32 : 128;
  if (network.bits === width) return readNetwork(formatIp(network.address), refuse);
  if (holdsIpv4(network)) {
    return refuse(
      "holds IPv4 addresses in IPv6, which are looked up as IPv4: write the IPv4 network instead",
    );
  }
  const reserved = specialUse(network.address);
  if (reserved !== undefined && reserved.prefix.bits <= network.bits) {
    return refuse(`is a ${reserved.use} network: it is never looked up`);
  }
  const value = formatPrefix(network);
  if (network.bits >= WIDEST[family]) return { kind: "network", value };
  const tooWide = `is wider than /${WIDEST[family]}: it covers ${family === 4 ? (2 ** (32 - network.bits)).toLocaleString("en") : `2^${128 - network.bits}`} addresses`;
  return { kind: "network", value, tooWide };
}

/** 6to4, Teredo and NAT64 networks: their addresses are looked up as the IPv4 address inside. */
function holdsIpv4(network: Prefix): boolean {
  if (network.address.family === 4) return false;
  const [a, b, c] = network.address.words as unknown as [number, number, number];
  return (
    (network.bits >= 16 && a >>> 16 === 0x2002) ||
    (network.bits >= 32 && a === 0x20010000) ||
    (network.bits >= 96 && a === 0x0064ff9b && b === 0 && c === 0)
  );
}

function readDomain(text: string, refuse: Refuse): ReadTarget | undefined {
  // A top-level domain is its own suffix: it is read with a label in front.
  const isSingle = !/[.\u3002\uff0e\uff61]/.test(text);
  const host = toAsciiDomain(isSingle ? `x.${text}` : text)?.slice(isSingle ? 2 : 0);
  if (host === undefined) return refuse("is no address, network, domain, email address or SHA-256 in hex");
  if (isSpecialUseDomain(host)) return refuse("is a special-use domain: no mail can come from there");
  if (isSingle || publicSuffix(host) === host) {
    return { kind: "domain", value: host, tooWide: `is a public suffix: everybody may register below it` };
  }
  return { kind: "domain", value: host };
}

/** The hash that an email address is kept as; undefined for text that is none. */
export function emailHash(text: string): string | undefined {
  const { valid, host } = parseEmail(text);
  return valid && host !== undefined ? sha256Hex(normalMailbox(text, host)) : undefined;
}
