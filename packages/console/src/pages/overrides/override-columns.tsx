// override-columns.tsx: shows an override as a table row with its verdict, author, reason, and expiry or state, with
// buttons that change or remove the override, and the texts of the form for a new one.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { Override } from "../../answers.ts";
import { Badge, RelativeTime } from "../../components/basics.tsx";
import { Action } from "../../components/operation.tsx";
import { Value } from "../../components/resource.tsx";
import { type Column, TwoLines } from "../../components/table.tsx";
import { flagName } from "../../format.ts";

/** The fields of the reason for an override, and the text of a dialog above them. */
export const REASON_FIELDS = { note: { label: "Reason" } } as const;
export const flagOptions = (flags: readonly string[]) => flags.map((flag) => [flag, flagName(flag)] as const);
const VERDICTS = [
  ["false", "no"],
  ["true", "yes"],
] as const;
/** The fields of a new override. */
export const NEW_FIELDS = {
  value: {
    label: "Address, network, domain or email address",
    note: "An email address is stored only as a hash.",
    placeholder: "203.0.113.9, 203.0.113.0/24, example.com",
  },
  flag: { options: flagOptions([...REPUTATION_FLAGS, "disposable"]), note: "" },
  verdict: { options: VERDICTS },
  ...REASON_FIELDS,
} as const;
export const ADDED = "Override added. All servers apply it within a second.";
export const PRECEDENCE = "An override takes precedence over every feed.";

const VERDICT_COLUMNS: readonly Column<Override>[] = [
  [
    "Value",
    ({ value, kind }) => (
      <TwoLines below={kind.replace("_", " ")}>
        {kind === "email_hash" ? (
          <code>{value}</code>
        ) : (
          <a href={`#/lookup/${encodeURIComponent(value)}`}>{value}</a>
        )}
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
];

export const OVERRIDE_COLUMNS: readonly Column<Override>[] = [
  ...VERDICT_COLUMNS,
  ["Expires", ({ expires_at }) => <Value name="expires_at" of={expires_at} />],
];

/** Columns for past and present overrides: what each decided, and what became of it. */
export const HISTORY_COLUMNS: readonly Column<Override>[] = [
  ...VERDICT_COLUMNS,
  ["State", stateOf],
  [
    "Changes",
    ({ id, value }) => (
      <a href={`#/audit?subject=${id}`} aria-label={`Changes to the override for ${value}`}>
        Changes
      </a>
    ),
  ],
];

/** When an override was removed, or has expired; null if it is active. */
const endOf = ({ removed_at, expires_at }: Override) =>
  removed_at ?? (expires_at !== null && Date.parse(expires_at) <= Date.now() ? expires_at : null);
export const isActive = (override: Override) => endOf(override) === null;

function stateOf(override: Override) {
  const ended = endOf(override);
  if (ended === null) return <Badge kind="good">active</Badge>;
  return (
    <>
      {override.removed_at ? "removed " : "expired "}
      <RelativeTime iso={ended} />
    </>
  );
}

/** @param changed called when the override has changed or ended */
export const overrideActions = (override: Override, changed: () => void) => {
  const { id, value, flag, verdict } = override;
  return (
    <>
      <Action
        route="POST overrides"
        input={{ value, flag, verdict, force: true }} // a wide network was allowed when the override was added
        text="Edit"
        label={`Edit the override for ${value}`}
        question={[`Edit the override for ${value}`, PRECEDENCE, "Save"]}
        initial={override}
        fields={REASON_FIELDS}
        message={({ outcome }) => `Override ${outcome}.`}
        done={changed}
      />
      <Action
        route="DELETE overrides/{id}"
        input={{ id }}
        text="Remove"
        label={`Remove the override for ${value}`}
        question={["Remove this override?", `Feeds decide about ${value} again within a second.`, "Remove"]}
        isDanger
        message="Override removed."
        done={changed}
      />
    </>
  );
};
