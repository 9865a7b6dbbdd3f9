// override.ts: checks an override that an operator requests for an address, network, domain or email address.
//
// Source: docs/overrides.md. An email address is stored only as the SHA-256 of its normal form, and no message quotes
// it.

import { sha256Hex } from "@inkling/data";
import {
  FLAGS_OF,
  formatIp,
  formatPrefix,
  HOLDS_IPV4,
  holdsIpv4,
  isSpecialUseDomain,
  issueLines,
  type NewOverride,
  nearest,
  normalMailbox,
  OVERRIDE_FLAGS,
  type OverrideFlag,
  type OverrideKind,
  type OverrideTarget,
  parseEmail,
  parseIp,
  parsePrefix,
  publicSuffix,
  specialUse,
  toAsciiDomain,
  withoutHostBits,
} from "@inkling/engine";
import { z } from "zod";
import type { EpochMs } from "../keys/key.ts";
import { isoTime, oneLine } from "../text/fields.ts";

/** The maximum number of active overrides. After each change, every process gets all of them again. */
export const MAX_OVERRIDES = 10_000;
const MAX_NOTE = 500;
export const MAX_AUTHOR = 100;
/** TOO_WIDE: the override is valid only with `force`. */
export type OverrideInputCode = "INVALID" | "TOO_WIDE";

/** An override cannot be created as requested. `problems` has one line for each mistake. */
export class OverrideInputError extends Error {
  readonly problems: readonly string[];
  readonly code: OverrideInputCode;
  constructor(problems: readonly string[], code: OverrideInputCode = "INVALID") {
    super(problems.join("; "));
    this.name = "OverrideInputError";
    this.problems = problems;
    this.code = code;
  }
}

export const newOverrideBody = z.strictObject({
  value: z.string("must be text").min(1, "must not be empty").max(400, "is too long").meta({
    description: "An address, a network, a domain with its subdomains, or an email address or its hash",
  }),
  flag: z
    .string(`must be one of ${OVERRIDE_FLAGS.join(", ")}`)
    .max(100)
    .meta({ description: `The flag to set: ${OVERRIDE_FLAGS.join(", ")}` }),
  verdict: z.boolean("must be true or false").meta({ description: "What the flag is set to" }),
  note: oneLine(MAX_NOTE).meta({ description: `Why; at most ${MAX_NOTE} characters` }),
  expires_at: isoTime.nullish().meta({ description: "When it expires; null means never" }),
  force: z
    .boolean("must be true or false")
    .default(false)
    .meta({ description: "Accept a network wider than /16 (IPv6: /32), or a public suffix such as co.uk" }),
});

export interface OverrideContext {
  readonly now: EpochMs;
  readonly author: string;
}

/**
 * Parses an override from external input.
 * @throws OverrideInputError with every problem of the first check that fails
 */
export function parseNewOverride(input: unknown, context: OverrideContext): NewOverride {
  const result = newOverrideBody.safeParse(input);
  if (!result.success) throw new OverrideInputError(issueLines(result.error, "override", input));
  return newOverride(result.data, context);
}

/** @throws OverrideInputError with every problem of the first check that fails */
export function newOverride(
  wanted: z.output<typeof newOverrideBody>,
  { now, author }: OverrideContext,
): NewOverride {
  const problems: string[] = [];
  const target = readTarget(wanted.value, problems);
  const flag = readFlag(wanted.flag, target?.kind, problems);
  const expiresAt = wanted.expires_at ?? undefined;
  if (expiresAt !== undefined && expiresAt <= now) problems.push("expires_at: is in the past");
  if (target === undefined || flag === undefined || problems.length > 0)
    throw new OverrideInputError(problems);
  if (target.tooWide !== undefined && !wanted.force) {
    throw new OverrideInputError([`value: ${target.tooWide}`], "TOO_WIDE");
  }
  const { kind, value } = target;
  const { verdict, note } = wanted;
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
    const help =
      near === undefined ? `: the flags are ${OVERRIDE_FLAGS.join(", ")}` : `; did you mean ${near}?`;
    problems.push(`flag: unknown flag "${flag}"${help}`);
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

/** Minimum prefix lengths. Wider networks need `force`, as do public suffixes. */
const WIDEST = { 4: 16, 6: 32 } as const;

interface ReadTarget extends OverrideTarget {
  /** Why the target needs `force`. */
  readonly tooWide?: string;
}

const HASH = /^[0-9a-f]{64}$/i;
/** Matches text that could be meant as an address or a network: digits and dots, or a colon. */
const ADDRESS_LIKE = /^[0-9.]+(\/|$)|:/;

/** Reads the value of an override as {@link parseNewOverride} does; undefined if no override can have the value. */
export function overrideTarget(text: string): OverrideTarget | undefined {
  return readTarget(text, []);
}

/** @param problems receives a line for each mistake */
function readTarget(text: string, problems: string[]): ReadTarget | undefined {
  const refuse = (problem: string) => {
    problems.push(`value: ${problem}`);
    return undefined;
  };
  if (text.includes("@")) {
    const hash = emailHash(text);
    return hash === undefined ? refuse("is not an email address") : { kind: "email_hash", value: hash };
  }
  if (HASH.test(text)) return { kind: "email_hash", value: text.toLowerCase() };
  if (ADDRESS_LIKE.test(text) || text.includes("/")) return readNetwork(text, refuse);
  return readDomain(text, refuse);
}

type Refuse = (problem: string) => undefined;

function readNetwork(text: string, refuse: Refuse): ReadTarget | undefined {
  const address = text.includes("/") ? undefined : parseIp(text);
  if (address !== undefined) {
    const reserved = specialUse(address);
    if (reserved !== undefined) return refuse(`is a ${reserved.use} address, which Inkling never looks up`);
    return { kind: "address", value: formatIp(address) };
  }
  const network = parsePrefix(text);
  if (network === undefined) {
    const meant = withoutHostBits(text);
    if (meant !== undefined) return refuse(`\`${text}\` has host bits set. Use \`${meant}\``);
    return refuse(
      "is not an address or network: write for example 203.0.114.9, 203.0.114.0/24 or 2a00:1450::/32, with no bits set after the prefix",
    );
  }
  const { family } = network.address;
  const width = family === 4 ? 32 : 128;
  if (network.bits === width) return readNetwork(formatIp(network.address), refuse);
  if (holdsIpv4(network)) return refuse(HOLDS_IPV4);
  const reserved = specialUse(network.address);
  if (reserved !== undefined && reserved.prefix.bits <= network.bits) {
    return refuse(`is a ${reserved.use} network, which Inkling never looks up`);
  }
  const value = formatPrefix(network);
  if (network.bits >= WIDEST[family]) return { kind: "network", value };
  const tooWide = `is broader than /${WIDEST[family]}: it covers ${family === 4 ? (2 ** (32 - network.bits)).toLocaleString("en") : `2^${128 - network.bits}`} addresses`;
  return { kind: "network", value, tooWide };
}

function readDomain(text: string, refuse: Refuse): ReadTarget | undefined {
  // A top-level domain is its own public suffix, so it is parsed with a label in front of it.
  const isSingle = !/[.\u3002\uff0e\uff61]/.test(text);
  const host = toAsciiDomain(isSingle ? `x.${text}` : text)?.slice(isSingle ? 2 : 0);
  if (host === undefined)
    return refuse("is not an address, network, domain, email address or SHA-256 in hex");
  if (isSpecialUseDomain(host)) return refuse("is a special-use domain, which cannot send mail");
  if (isSingle || publicSuffix(host) === host) {
    return {
      kind: "domain",
      value: host,
      tooWide: `is a public suffix: anyone can register a domain below it`,
    };
  }
  return { kind: "domain", value: host };
}

/** Returns the hash that represents an email address; undefined if the text is not a valid address. */
export function emailHash(text: string): string | undefined {
  const { valid, host } = parseEmail(text);
  return valid && host !== undefined ? sha256Hex(normalMailbox(text, host)) : undefined;
}
