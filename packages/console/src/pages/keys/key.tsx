// key.tsx: one key: usage, limits, rotation, revocation.

import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Badge, Card, type Kind, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { Field, Select } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { notify, useLoad } from "../../hooks.ts";
import type { Key } from "../../types.ts";
import { KeyForm, type KeyLimits, TokenOnce } from "./key-form.tsx";
import { KeyUsage } from "./usage.tsx";

export function KeyDetail({ id }: { id: string }) {
  const loading = useLoad((signal) => api<Key>(`keys/${encodeURIComponent(id)}`, { signal }), [id]);
  const save = async (body: KeyLimits) => {
    await api(`keys/${encodeURIComponent(id)}`, { method: "PATCH", body });
    notify("Saved. All servers apply it within a second.");
    loading.reload();
  };
  return (
    <>
      <p>
        <a href="#/keys">All keys</a>
      </p>
      <Loaded from={loading}>
        {(key) => (
          <>
            <Summary of={key} />
            {(key.state === "live" || key.state === "sandbox") && (
              <>
                <Card title="Limits">
                  <KeyForm of={key} save={save} />
                </Card>
                <div class="pair">
                  <Rotate of={key} />
                  <Revoke of={key} />
                </div>
              </>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

const STATE_KINDS: Readonly<Record<Key["state"], Kind>> = {
  live: "good",
  sandbox: "warn",
  expired: "faint",
  revoked: "faint",
};

export const KeyState = ({ state }: { state: Key["state"] }) => (
  <Badge kind={STATE_KINDS[state]}>{state}</Badge>
);

interface KeyProps {
  readonly of: Key;
}

const Summary = ({ of: key }: KeyProps) => (
  <Card
    title={
      <>
        {key.name} <KeyState state={key.state} />
      </>
    }
  >
    <p>
      <code>{key.hint}</code> created <RelativeTime iso={key.created_at} />
      {key.revoked_at && (
        <>
          , revoked <RelativeTime iso={key.revoked_at} />
        </>
      )}
    </p>
    <KeyUsage id={key.id} />
  </Card>
);

const OVERLAPS = [
  ["86400", "for a day"],
  ["3600", "for an hour"],
  ["604800", "for a week"],
  ["0", "not at all"],
] as const;

function Rotate({ of: { id, name } }: KeyProps) {
  const [overlap, setOverlap] = useState("86400");
  const [token, setToken] = useState<string>();
  const rotate = async () => {
    const body = { overlap_seconds: Number(overlap) };
    setToken((await api<{ token: string }>(`keys/${id}/rotate`, { method: "POST", body })).token);
  };
  return (
    <Card title="Rotate">
      <Field label="The old token stays valid" note="Time to replace it in the applications that use it.">
        <Select
          options={OVERLAPS}
          value={overlap}
          onChange={(event) => setOverlap(event.currentTarget.value)}
        />
      </Field>
      <p class="actions">
        <ConfirmButton
          class=""
          title={`Rotate ${name}?`}
          text="The key gets a new token. The old one stays valid for the time you chose."
          confirm="Rotate"
          isDanger={false}
          run={rotate}
        >
          Rotate
        </ConfirmButton>
      </p>
      <div aria-live="polite">{token && <TokenOnce token={token} />}</div>
    </Card>
  );
}

function Revoke({ of: { id, name } }: KeyProps) {
  const revoke = async () => {
    await api(`keys/${id}`, { method: "DELETE" });
    notify("Revoked.");
    location.hash = "#/keys";
  };
  return (
    <Card title="Revoke">
      <p>Applications that use the key get 401 within a second. Its usage is kept.</p>
      <p class="actions">
        <ConfirmButton
          class="danger"
          title={`Revoke ${name}?`}
          text="Applications that use it get 401 within a second. This cannot be undone."
          confirm="Revoke"
          run={revoke}
        >
          Revoke this key
        </ConfirmButton>
      </p>
    </Card>
  );
}
