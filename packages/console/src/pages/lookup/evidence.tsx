// evidence.tsx: which feeds list a value, and what that did to the answer.

import { Card, RelativeTime } from "../../components/basics.tsx";
import { Table } from "../../components/table.tsx";
import { flagName, formatLabel } from "../../format.ts";
import type { EmailVerdict, Evidence, Reputation } from "../../types.ts";

const EFFECTS: Readonly<Record<string, string>> = {
  sets: "sets",
  fills: "fills in",
  removes: "removes",
  label: "label only",
  mutes: "mutes",
};

export const EvidenceCard = ({ from }: { from: Reputation | EmailVerdict }) => (
  <Card isWide title="Evidence">
    <Table
      caption="Evidence"
      rows={from.evidence ?? []}
      rowKey={(_, i) => i}
      columns={[
        { name: "Feed", cell: ({ feed }) => <strong>{feed}</strong> },
        { name: "Label", cell: ({ label }) => formatLabel(label) },
        {
          name: "Match",
          cell: ({ network, domain, id }) => {
            const match = network ?? domain ?? id;
            return match && <code>{match}</code>;
          },
        },
        { name: "Effect", cell: (entry) => <Effect entry={entry} /> },
        { name: "Fetched", cell: ({ fetched_at }) => fetched_at && <RelativeTime iso={fetched_at} /> },
      ]}
      empty="No feed lists it."
    />
    {from.evidence_truncated && (
      <p class="faint">There is more evidence than is shown; this part decides the answer.</p>
    )}
  </Card>
);

function Effect({ entry }: { entry: Evidence }) {
  const { effect, flags = [], members = [], mutes, did_you_mean, why } = entry;
  const targets = [...flags.map(flagName), ...members].join(", ");
  return (
    <>
      {[EFFECTS[effect] ?? effect, targets, mutes].filter(Boolean).join(" ")}
      {did_you_mean && <small>did they mean {did_you_mean}?</small>}
      {why && <small>{why.replaceAll("_", " ")}</small>}
    </>
  );
}
