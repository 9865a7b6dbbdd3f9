// delete.tsx: deletes the decisions about one `ref`, or all decisions before a day.

import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { TextField } from "../../components/form.tsx";
import { formatCount } from "../../format.ts";
import { notify } from "../../hooks.ts";

export const DeleteDecisions = ({ onDeleted }: { onDeleted: () => void }) => (
  <Card title="Delete decisions">
    <p class="faint">Deleted decisions and their outcomes cannot be restored.</p>
    <div class="pair">
      <Deletion name="ref" label="All decisions with the ref" action="Delete by ref" onDeleted={onDeleted} />
      <Deletion
        name="before"
        label="All decisions before this day (UTC)"
        action="Delete by time"
        onDeleted={onDeleted}
      />
    </div>
  </Card>
);

interface DeletionProps {
  /** The parameter's name. */
  readonly name: "ref" | "before";
  readonly label: string;
  readonly action: string;
  readonly onDeleted: () => void;
}

function Deletion({ name, label, action, onDeleted }: DeletionProps) {
  const [value, setValue] = useState("");
  const remove = async () => {
    const { deleted } = await call("DELETE decisions", { [name]: value });
    notify(`Deleted ${formatCount(deleted)} ${deleted === 1 ? "decision" : "decisions"}.`);
    setValue("");
    onDeleted();
  };
  const text = `${label} ${value} and their outcomes are deleted.`;
  return (
    <div>
      <TextField
        label={label}
        {...(name === "before" && { type: "date" })}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value.trim())}
      />
      {value !== "" && (
        <p class="actions">
          <ConfirmButton
            class="danger"
            text={action}
            question={["Delete decisions?", text, "Delete"]}
            isDanger
            run={remove}
          />
        </p>
      )}
    </div>
  );
}
