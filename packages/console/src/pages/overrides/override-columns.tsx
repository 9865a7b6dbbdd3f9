// override-columns.tsx: shows an override as a table row with its verdict, author, reason, and expiry or state, and
// with buttons that change or remove the override.

import type { Override } from "@inkling/server/admin-answers";
import { call } from "../../api.ts";
import { Badge, Expiry, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { type Column, TwoLines } from "../../components/table.tsx";
import { flagName } from "../../format.ts";
import { notify } from "../../hooks.ts";
import { EditButton } from "./edit.tsx";

/** @param onChanged called when an override has changed or ended */
export const overrideColumns = (onChanged: () => void): readonly Column<Override>[] => [
  ["Value", valueCell],
  ["Verdict", verdictOf],
  ["Reason", reasonOf],
  ["Expires", ({ expires_at }) => <Expiry iso={expires_at} />],
  [
    "Action",
    (row) => (
      <span class="actions">
        <EditButton override={row} onDone={onChanged} />
        <RemoveButton override={row} onRemoved={onChanged} />
      </span>
    ),
  ],
];

/** Columns for past and present overrides: what each decided, and what became of it. */
export const HISTORY_COLUMNS: readonly Column<Override>[] = [
  ["Value", valueCell],
  ["Verdict", verdictOf],
  ["Reason", reasonOf],
  ["State", stateOf],
  [
    "Changes",
    ({ id, value }) => (
      <a
        href={`#/audit?${new URLSearchParams({ subject: id })}`}
        aria-label={`Changes to the override for ${value}`}
      >
        Changes
      </a>
    ),
  ],
];

function stateOf({ removed_at, expires_at }: Override) {
  const isExpired = expires_at !== null && Date.parse(expires_at) <= Date.now();
  const ended = removed_at ?? (isExpired ? expires_at : null);
  if (ended === null) return <Badge kind="good">active</Badge>;
  return (
    <>
      {removed_at ? "removed " : "expired "}
      <RelativeTime iso={ended} />
    </>
  );
}

function valueCell({ value, kind }: Override) {
  const isHash = kind === "email_hash";
  return (
    <TwoLines below={kind.replace("_", " ")}>
      {isHash ? <code>{value}</code> : <a href={`#/lookup/${encodeURIComponent(value)}`}>{value}</a>}
    </TwoLines>
  );
}

function verdictOf({ flag, verdict }: Override) {
  return <Badge kind={verdict ? "bad" : "good"}>{`${flagName(flag)}: ${verdict ? "yes" : "no"}`}</Badge>;
}

function reasonOf({ note, author, created_at }: Override) {
  return <TwoLines below={[author, ", ", <RelativeTime key="at" iso={created_at} />]}>{note}</TwoLines>;
}

function RemoveButton({ override, onRemoved }: { override: Override; onRemoved: () => void }) {
  const { id, value } = override;
  const text = `Feeds decide about ${value} again within a second.`;
  const question = ["Remove this override?", text, "Remove"] as const;
  const run = async () => {
    await call("DELETE overrides/{id}", { id });
    notify("Override removed.");
    onRemoved();
  };
  const label = `Remove the override for ${value}`;
  return <ConfirmButton needs="analyst" text="Remove" label={label} question={question} isDanger run={run} />;
}
