// override-card.tsx: shows the overrides that apply to a value, with the author, reason and expiry of each, and
// buttons that change or end an override.

import type { Override } from "@inkling/server/admin-answers";
import { Card } from "../../components/basics.tsx";
import { Table } from "../../components/table.tsx";
import { OVERRIDE_COLUMNS, overrideActions } from "../overrides/override-columns.tsx";

interface OverrideCardProps {
  readonly overrides: readonly Override[];
  readonly reload: () => void;
}

export const OverrideCard = ({ overrides, reload }: OverrideCardProps) =>
  overrides.length > 0 && (
    <Card isWide title="Your overrides">
      <Table
        caption="Your overrides"
        rows={overrides}
        rowKey={({ id }) => id}
        columns={[
          ...OVERRIDE_COLUMNS,
          ["Action", (row) => <span class="actions">{overrideActions(row, reload)}</span>],
        ]}
        empty=""
      />
    </Card>
  );
