// delete.tsx: deletes the decisions about one `ref`, or all decisions before a day.

import { Card } from "../../components/basics.tsx";
import { Action } from "../../components/operation.tsx";
import { formatCount } from "../../format.ts";
import { notify } from "../../hooks.ts";

export function DeleteDecisions({ onDeleted }: { onDeleted: () => void }) {
  const done = ({ deleted }: { deleted: number }) => {
    notify(`Deleted ${formatCount(deleted)} ${deleted === 1 ? "decision" : "decisions"}.`);
    onDeleted();
  };
  const shared = {
    route: "DELETE decisions",
    class: "danger",
    question: ["Delete decisions?", "These decisions and their outcomes are deleted.", "Delete"],
    isDanger: true,
    done,
  } as const;
  return (
    <Card title="Delete decisions">
      <p class="faint">Deleted decisions and their outcomes cannot be restored.</p>
      <div class="actions">
        <Action
          {...shared}
          text="Delete by ref"
          input={{ before: undefined }}
          fields={{ ref: { label: "All decisions with the ref", note: "" } }}
        />
        <Action
          {...shared}
          text="Delete by time"
          input={{ ref: undefined }}
          fields={{
            before: { label: "All decisions before this day (UTC)", note: "", isDay: true },
          }}
        />
      </div>
    </Card>
  );
}
