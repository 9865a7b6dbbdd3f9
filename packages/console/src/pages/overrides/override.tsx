// override.tsx: shows an override: its columns, the buttons that change or remove it, and the texts of the form for a
// new one.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { Override } from "../../answers.ts";
import { Badge, RelativeTime } from "../../components/basics.tsx";
import { Action } from "../../components/operation.tsx";
import { TwoLines } from "../../components/table.tsx";
import type { Columns } from "../../components/value.tsx";
import { flagName } from "../../format.ts";
import { LookupLink } from "../lookup/links.tsx";

/** The fields of the reason for an override. */
export const REASON_FIELDS = { note: { label: "Reason" } } as const;
export const flagOptions = (flags: readonly string[]) => flags.map((flag) => [flag, flagName(flag)] as const);
/** The fields of a new override. */
export const NEW_FIELDS = {
  value: {
    label: "Address, network, domain or email address",
    note: "An email address is stored only as a hash.",
    placeholder: "203.0.113.9, 203.0.113.0/24, example.com",
  },
  flag: { options: flagOptions([...REPUTATION_FLAGS, "disposable"]), note: "" },
  verdict: {
    options: [
      ["false", "no"],
      ["true", "yes"],
    ],
  },
  ...REASON_FIELDS,
} as const;
export const ADDED = "Override added. All servers apply it within a second.";
export const PRECEDENCE = "An override takes precedence over every feed.";

export const OVERRIDE_COLUMNS: Columns<Override> = [
  [
    "Value",
    ({ value, kind }) => (
      <TwoLines below={kind.replace("_", " ")}>
        {kind === "email_hash" ? <code>{value}</code> : <LookupLink value={value} />}
      </TwoLines>
    ),
  ],
  [
    "Verdict",
    ({ flag, verdict }) => (
      <Badge kind={verdict ? "bad" : "good"}>{`${flagName(flag)}: ${verdict ? "yes" : "no"}`}</Badge>
    ),
  ],
  [
    "Reason",
    ({ note, author, created_at }) => (
      <TwoLines below={[author, ", ", <RelativeTime key="at" iso={created_at} />]}>{note}</TwoLines>
    ),
  ],
  ["Expires", expiryOf],
];

/** When an override was removed, or has expired; null if it is active. */
const endOf = ({ removed_at, expires_at }: Override) =>
  removed_at ?? (expires_at !== null && Date.parse(expires_at) <= Date.now() ? expires_at : null);

function expiryOf(override: Override) {
  const { removed_at, expires_at } = override;
  if (endOf(override) !== null) {
    return [removed_at ? "removed " : "expired ", <RelativeTime key="end" iso={endOf(override)!} />];
  }
  return expires_at === null ? "never" : <RelativeTime iso={expires_at} />;
}

/** @param changed called when the override has changed or ended */
export function overrideActions(override: Override, changed: () => void) {
  const { id, value, flag, verdict } = override;
  const of = `the override for ${value}`;
  return (
    <>
      {endOf(override) === null && (
        <>
          <Action
            route="POST overrides"
            input={{ value, flag, verdict, force: true }} // a wide network was allowed when the override was added
            text="Edit"
            of={of}
            ask={PRECEDENCE}
            action="Save"
            initial={override}
            fields={REASON_FIELDS}
            message={({ outcome }) => `Override ${outcome}.`}
            done={changed}
          />
          <Action
            route="DELETE overrides/{id}"
            input={{ id }}
            text="Remove"
            of={of}
            ask="Feeds decide about the value again within a second."
            message="Override removed."
            done={changed}
          />
        </>
      )}
      <a href={`#/audit?subject=${id}`} aria-label={`Changes to ${of}`}>
        Changes
      </a>
    </>
  );
}
