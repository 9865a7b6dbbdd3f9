// key.tsx: shows one key with its usage and limits, and rotates or revokes it.

import type { Key, KeySettings, UsedKey } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { call, findById } from "../../api.ts";
import { Badge, Card, type Kind, RelativeTime } from "../../components/basics.tsx";
import { Select } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { EndCard, RotateCard } from "../../components/secrets.tsx";
import { notify, useAction, useLoad } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { KeyForm } from "./key-form.tsx";
import { KeyUsage } from "./usage.tsx";

const KINDS: Readonly<Record<Key["state"], Kind>> = {
  live: "good",
  sandbox: "warn",
  expired: "faint",
  revoked: "faint",
};
export const KeyState = ({ state }: { state: Key["state"] }) => <Badge kind={KINDS[state]}>{state}</Badge>;

export function KeyDetail({ id }: { id: string }) {
  const loading = useLoad(
    (signal) => findById<UsedKey>(`keys/${encodeURIComponent(id)}`, "key", signal),
    [id],
  );
  const save = async (body: KeySettings) => {
    await call("PATCH keys/{id}", { id, ...body });
    notify("Saved. All servers apply the change within a second.");
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
                  <KeyForm of={key} submit={save} />
                </Card>
                <div class="pair">
                  <Rotate of={key} />
                  <Revoke of={key} />
                </div>
                <Trace of={key} reload={loading.reload} />
              </>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

const Summary = ({
  of: { id, name, state, hint, created_at, revoked_at, last_used_at },
}: {
  of: UsedKey;
}) => (
  <Card title={[name, " ", <KeyState key="state" state={state} />]}>
    <p>
      <code>{hint}</code> created <RelativeTime iso={created_at} />
      {revoked_at && [", revoked ", <RelativeTime key="revoked" iso={revoked_at} />]}
      {last_used_at ? `, last used on ${last_used_at} (UTC)` : ", never used"}
    </p>
    <KeyUsage id={id} />
  </Card>
);

function Rotate({ of: { id, name } }: { of: Key }) {
  const text = "The key gets a new token. The old token remains valid for the time that you chose.";
  return (
    <RotateCard
      what="key"
      label="The old token remains valid"
      note="Time to replace the token in the applications that use it."
      question={[`Rotate ${name}?`, text, "Rotate"]}
      rotate={async (body) => (await call("POST keys/{id}/rotate", { id, ...body })).token}
    />
  );
}

const TRACES = [
  ["86400", "for a day"],
  ["3600", "for an hour"],
  ["604800", "for a week"],
] as const;

function Trace({ of: { id, traced_until }, reload }: { of: Key; reload: () => void }) {
  const [seconds, setSeconds] = useState("86400");
  const [run, isRunning] = useAction();
  const readOnly = useRefusal("admin");
  const isTraced = traced_until !== null && Date.parse(traced_until) > Date.now();
  const trace = (until: string | null) =>
    run(async () => {
      await call("PATCH keys/{id}", { id, traced_until: until });
      notify(until === null ? "Tracing stopped." : "Tracing started. All servers apply it within a second.");
      reload();
    });
  const start = () => trace(new Date(Date.now() + Number(seconds) * 1_000).toISOString());
  return (
    <Card title="Trace">
      <p>
        Trace a key that may have leaked. Servers log the networks that use the key (/24 and /48, never a full
        address).
      </p>
      {isTraced ? (
        <p class="actions">
          <span>
            Traced; ends <RelativeTime iso={traced_until} />
          </span>
          <button
            type="button"
            disabled={isRunning || readOnly !== undefined}
            title={readOnly}
            onClick={() => trace(null)}
          >
            Stop tracing
          </button>
        </p>
      ) : (
        <p class="actions">
          <Select aria-label="Trace" options={TRACES} value={seconds} onChoose={setSeconds} />
          <button
            type="button"
            disabled={isRunning || readOnly !== undefined}
            title={readOnly}
            onClick={start}
          >
            Trace this key
          </button>
        </p>
      )}
    </Card>
  );
}

function Revoke({ of: { id, name } }: { of: Key }) {
  const revoke = async () => {
    await call("DELETE keys/{id}", { id });
    notify("Revoked.");
    location.hash = "#/keys";
  };
  const text = "Applications that use the key get 401 within a second. This cannot be undone.";
  return (
    <EndCard
      title="Revoke"
      text="Revoke a key that is lost or no longer needed. Its usage is kept."
      button="Revoke this key"
      question={[`Revoke ${name}?`, text, "Revoke"]}
      run={revoke}
    />
  );
}
