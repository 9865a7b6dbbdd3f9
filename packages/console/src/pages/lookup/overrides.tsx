// overrides.tsx: shows the overrides that apply to a value that was looked up, and buttons that add one.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { Evidence, Override } from "../../answers.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { List } from "../../components/list.tsx";
import { Action } from "../../components/operation.tsx";
import { flagName } from "../../format.ts";
import {
  ADDED,
  flagOptions,
  NEW_FIELDS,
  OVERRIDE_COLUMNS,
  overrideActions,
  PRECEDENCE,
  REASON_FIELDS,
} from "../overrides/override.tsx";

interface OverrideButtonProps {
  readonly value: string;
  readonly flag: string;
  readonly verdict: boolean;
  /** The button's text. The default is "Set" or "Clear". */
  readonly text?: string;
  /** The overrides that apply to the whole value. */
  readonly overrides: readonly Override[];
  readonly onDone: () => void;
}

/**
 * Shows a badge if an override already decides. If that override is of the same value, there is no button, because a
 * second override would replace the first.
 */
export function OverrideButton({ value, flag, verdict, text, overrides, onDone }: OverrideButtonProps) {
  const deciding = overrides.filter((one) => one.flag === flag);
  const badge = deciding.length > 0 && <Badge kind="faint">your override</Badge>;
  if (deciding.some((one) => one.value === value.toLowerCase())) return badge;
  return (
    <span>
      {badge}
      <Action
        route="POST overrides"
        input={{ value, flag, verdict, force: false }}
        text={text ?? (verdict ? "Set" : "Clear")}
        {...(text === undefined && { of: `${flagName(flag)} for ${value}` })}
        ask={PRECEDENCE}
        action="Add override"
        fields={REASON_FIELDS}
        message={ADDED}
        done={onDone}
      />
    </span>
  );
}

const NETWORK_FIELDS = {
  ...NEW_FIELDS,
  value: { label: "Network" },
  flag: { ...NEW_FIELDS.flag, options: flagOptions(REPUTATION_FLAGS) },
} as const;

/** Opens the form for a new override with exactly the network in the evidence. */
export function OverrideNetwork({ of, onDone }: { of: Evidence; onDone: () => void }) {
  const { feed, network, flags } = of;
  if (network === undefined || feed === "override") return null;
  return (
    <Action
      route="POST overrides"
      text="Override this network"
      of={network}
      ask={PRECEDENCE}
      action="Add override"
      initial={{ value: network, flag: flags?.[0], verdict: false }}
      fields={NETWORK_FIELDS}
      message={ADDED}
      done={onDone}
    />
  );
}

interface OverrideCardProps {
  readonly overrides: readonly Override[];
  readonly reload: () => void;
}

/** Shows nothing if there is none. */
export const OverrideCard = ({ overrides, reload }: OverrideCardProps) =>
  overrides.length > 0 && (
    <Card class="wide" title="Your overrides">
      <List
        caption="Your overrides"
        rows={overrides}
        rowKey={({ id }) => id}
        columns={OVERRIDE_COLUMNS}
        actions={(one) => overrideActions(one, reload)}
        empty=""
      />
    </Card>
  );
