// model.ts: defines overrides. An override is an operator's own verdict on an address, network, domain or email
// address.
//
// Source: docs/overrides.md. Only the SHA-256 of an email address's normal form is stored, never the address.

import { REPUTATION_FLAGS, type ReputationFlag } from "@inkling/contract";
import { type Prefix, parsePrefix } from "../address/ip.ts";

export const OVERRIDE_KINDS = ["address", "network", "domain", "email_hash"] as const;
export type OverrideKind = (typeof OVERRIDE_KINDS)[number];

/** The flags of an address, in the order of the answer. */
export const ADDRESS_FLAGS = REPUTATION_FLAGS;
export type AddressFlag = ReputationFlag;
export const OVERRIDE_FLAGS = [...ADDRESS_FLAGS, "disposable"] as const;
export type OverrideFlag = (typeof OVERRIDE_FLAGS)[number];

/** Which flags each kind can force. */
export const FLAGS_OF: Readonly<Record<OverrideKind, readonly OverrideFlag[]>> = {
  address: ADDRESS_FLAGS,
  network: ADDRESS_FLAGS,
  domain: ["disposable"],
  email_hash: ["disposable"],
};

/** The subject of an override, in normal form. */
export interface OverrideTarget {
  readonly kind: OverrideKind;
  /** "203.0.114.9", "203.0.114.0/24", "example.co.uk" or 64 hex digits. */
  readonly value: string;
}

/** An override before it is stored. */
export interface NewOverride extends OverrideTarget {
  readonly flag: OverrideFlag;
  /** The value that the flag is forced to. */
  readonly verdict: boolean;
  readonly note: string;
  readonly author: string;
  /** Epoch ms; undefined if it never expires. */
  readonly expiresAt: number | undefined;
  /** Epoch ms; set only for an imported override. */
  readonly createdAt?: number | undefined;
}

/** One override, frozen. All times are epoch ms. */
export interface Override extends NewOverride {
  /** `ovr_` followed by 16 characters. */
  readonly id: string;
  readonly createdAt: number;
  readonly removedAt: number | undefined;
}

/** Where an override applies. Lookups read only this interface, and never an override's kind or value. */
interface OverridePlace {
  readonly prefixes?: readonly Prefix[];
  /** The domain and all names below it. */
  readonly domain?: string;
  /** The SHA-256 of a result of {@link normalMailbox}. */
  readonly mailbox?: string;
}

export function placeOf({ kind, value }: OverrideTarget): OverridePlace {
  switch (kind) {
    case "address":
    case "network": {
      const prefix = parsePrefix(value);
      return { prefixes: prefix === undefined ? [] : [prefix] }; // an invalid row (edited by hand) matches nothing
    }
    case "domain":
      return { domain: value };
    case "email_hash":
      return { mailbox: value };
    default:
      return kind satisfies never;
  }
}

/** Returns whether the override is active at `now` (epoch ms). */
export function isInForce({ removedAt, expiresAt }: Override, now: number): boolean {
  return removedAt === undefined && (expiresAt === undefined || expiresAt > now);
}
