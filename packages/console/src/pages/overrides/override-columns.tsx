// override-columns.tsx: an override as a row: what it decides, who added it and why, until when, and the end of it.

import type { Override } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";
import { Badge, Expiry, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { type Column, TwoLines } from "../../components/table.tsx";
import { flagName } from "../../format.ts";
import { notify } from "../../hooks.ts";

/** @param onRemoved called when one has ended */
export const overrideColumns = (onRemoved: () => void): readonly Column<Override>[] => [
  ["Value", valueCell],
  ["Verdict", verdictOf],
  ["Reason", reasonOf],
  ["Expires", ({ expires_at }) => <Expiry iso={expires_at} />],
  ["Action", (row) => <RemoveButton override={row} onRemoved={onRemoved} />],
];

const valueCell = ({ value, kind }: Override) => (
  <TwoLines below={kind.replace("_", " ")}>
    <code>{value}</code>
  </TwoLines>
);

const verdictOf = ({ flag, verdict }: Override) => (
  <Badge kind={verdict ? "bad" : "good"}>{`${flagName(flag)}: ${verdict ? "yes" : "no"}`}</Badge>
);

const reasonOf = ({ note, author, created_at }: Override) => (
  <TwoLines below={[author, ", ", <RelativeTime key="at" iso={created_at} />]}>{note}</TwoLines>
);

function RemoveButton({ override, onRemoved }: { override: Override; onRemoved: () => void }) {
  const { id, value } = override;
  const text = `Feeds decide about ${value} again within a second.`;
  const question = ["Remove this override?", text, "Remove"] as const;
  const run = async () => {
    await api(`overrides/${id}`, { method: "DELETE" });
    notify("Override removed.");
    onRemoved();
  };
  const label = `Remove the override of ${value}`;
  return <ConfirmButton text="Remove" label={label} question={question} isDanger run={run} />;
}
