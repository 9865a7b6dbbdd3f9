// email-labels.ts: what the text of an email address alone shows, as entries of evidence.
//
// in   the text, its host, and the release's evidence about the host
// out  complete entries, which set and remove nothing; none of them quotes the part before the "@"
// src  docs/email.md, "Labels"

import { ascii } from "../email/ascii.ts";
import { hasTag, isRoleAccount, suggestDomain } from "../email/email-labels.ts";
import { labelsIn } from "../segment/evidence.ts";

const entry = (label: string, more: object = {}) =>
  ascii(JSON.stringify({ feed: "inkling", label, effect: "label", ...more }));

const ROLE_ACCOUNT = entry("role_account");
const ALIAS = entry("alias");

/** @param record the release's evidence about the host */
export function labelEntries(text: string, host: string, record?: Uint8Array): Uint8Array[] {
  const local = text.slice(0, text.lastIndexOf("@"));
  const entries: Uint8Array[] = [];
  if (isRoleAccount(local)) entries.push(ROLE_ACCOUNT);
  if (hasTag(local)) entries.push(ALIAS);
  const suggestion = suggestDomain(host);
  if (suggestion !== undefined && !isInUse(record)) {
    entries.push(entry("mistyped", { did_you_mean: suggestion }));
  }
  return entries;
}

/** A domain on an allow-list receives real mail, however much it looks like a typing error. */
function isInUse(record: Uint8Array | undefined): boolean {
  return labelsIn(record).some((label) => label === "free_mail" || label === "relay");
}
