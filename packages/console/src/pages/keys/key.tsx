// key.tsx: shows one key with its usage and limits, and changes, rotates or revokes it.

import type { UsedKey } from "../../answers.ts";
import { Card, RelativeTime } from "../../components/basics.tsx";
import { Action, type FieldText, OperationForm } from "../../components/operation.tsx";
import { ResourceDetail } from "../../components/resource.tsx";
import { KeyUsage, SCOPES } from "./usage.tsx";

/** The fields of new and existing keys. */
export const KEY_FIELDS = {
  name: { note: "The application that uses the key." },
  scopes: { options: SCOPES },
  rate: { note: "Lookups per second; 0 means no limit.", placeholder: "default" },
  burst: { note: "Lookups that may arrive together.", placeholder: "default" },
  quota: { note: "Lookups per day (UTC).", placeholder: "none" },
  expires_at: { note: "At the end of that day (UTC).", isDay: true },
  networks: {
    label: "Allowed networks",
    note: "One per line. Leave empty to allow every address.",
    placeholder: "10.0.0.0/8",
  },
} satisfies Record<string, FieldText>;

const TRACE: FieldText = {
  label: "Trace",
  note: "For a key that may have leaked. Servers log the networks that use it (/24 and /48, never a full address).",
  options: [
    ["", "no"],
    [`${1 / 24}`, "for an hour"],
    ["1", "for a day"],
    ["7", "for a week"],
  ],
};

const isUsable = ({ state }: UsedKey) => state === "live" || state === "sandbox";

export const KeyDetail = ({ id }: { id: string }) => (
  <ResourceDetail
    route="GET keys/{id}"
    id={id}
    noun="key"
    nameOf={({ name }) => name}
    fields={[
      "state",
      ["Token", ({ hint }) => <code>{hint}</code>],
      "created_at",
      "last_used_at",
      "expires_at",
      ["Revoked", ({ revoked_at }) => revoked_at && <RelativeTime iso={revoked_at} />],
    ]}
    actions={(key) => isUsable(key) && <Buttons of={key} />}
  >
    {(key, reload) => (
      <>
        <KeyUsage id={id} />
        {isUsable(key) && (
          <Card title="Limits">
            <OperationForm
              class="grid"
              route="PATCH keys/{id}"
              action="Save"
              input={{ id }}
              initial={key}
              fields={{ ...KEY_FIELDS, traced_until: TRACE }}
              message="Saved. All servers apply the change within a second."
              done={reload}
            />
          </Card>
        )}
      </>
    )}
  </ResourceDetail>
);

const Buttons = ({ of: { id, name } }: { of: UsedKey }) => (
  <>
    <Action
      route="POST keys/{id}/rotate"
      input={{ id }}
      text="Rotate"
      of={name}
      ask="The key gets a new token. Replace the old token in all applications while both are valid."
    />
    <Action
      route="DELETE keys/{id}"
      input={{ id }}
      text="Revoke"
      of={name}
      class="danger"
      ask="Applications that use the key get 401 within a second. This cannot be undone. Its usage is kept."
      message="Revoked."
      done={() => {
        location.hash = "#/keys";
      }}
    />
  </>
);
