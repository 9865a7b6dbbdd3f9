// keys.tsx: all API keys, and a form for a new one; a key by its id.

import { api, listAll } from "../../api.ts";
import { Card, RelativeTime } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import { type PageProps, useLoad } from "../../hooks.ts";
import type { Key, ListedKey } from "../../types.ts";
import { KeyDetail, KeyState } from "./key.tsx";
import { KeyForm, type KeyLimits } from "./key-form.tsx";
import { countRefused, SCOPES } from "./usage.tsx";

export const KeysPage = ({ rest }: PageProps) => (rest === "" ? <Overview /> : <KeyDetail id={rest} />);

function Overview() {
  const keys = useLoad((signal) => listAll<ListedKey>("keys", "keys", signal), []);
  const create = async (limits: KeyLimits, mode: string) => {
    const body = { ...limits, mode };
    const created = await api<Key & { token: string }>("keys", { method: "POST", body });
    keys.reload();
    return created;
  };
  return (
    <Loaded from={keys}>
      {(loaded) => (
        <>
          <Card title="API keys">
            <KeyTable keys={loaded} />
          </Card>
          <Card title="New key">
            <KeyForm create={create} />
          </Card>
        </>
      )}
    </Loaded>
  );
}

const KeyTable = ({ keys }: { keys: readonly ListedKey[] }) => (
  <Table
    caption="Keys"
    rows={keys}
    rowKey={({ id }) => id}
    columns={[
      {
        name: "Name",
        cell: ({ id, name, hint }) => (
          <>
            <a href={`#/keys/${id}`}>{name}</a>
            <small>
              <code>{hint}</code>
            </small>
          </>
        ),
      },
      { name: "State", cell: ({ state }) => <KeyState state={state} /> },
      {
        name: "Scopes",
        cell: ({ scopes }) => (scopes.length === SCOPES.length ? "all" : scopes.join(", ")),
      },
      { name: "Limits", cell: formatLimits },
      {
        name: "Lookups today",
        isNumber: true,
        cell: ({ lookups_today: { geolocate, reputation, email }, refused_today }) => {
          const refused = countRefused(refused_today);
          return (
            <>
              {formatCount(geolocate + reputation + email)}
              {refused > 0 && <small class="bad">{formatCount(refused)} refused</small>}
            </>
          );
        },
      },
      {
        name: "Expires",
        cell: ({ expires_at }) => (expires_at ? <RelativeTime iso={expires_at} /> : "never"),
      },
    ]}
    empty="No keys yet: create the first one below."
  />
);

function formatLimits({ rate, burst, quota, networks }: Key): string {
  const parts = [
    rate === null ? "default rate" : rate === 0 ? "no rate limit" : `${formatCount(rate)}/s`,
    burst !== null && `burst ${formatCount(burst)}`,
    quota !== null && `${formatCount(quota)} per day`,
    networks.length > 0 && `from ${networks.length} network${networks.length === 1 ? "" : "s"}`,
  ];
  return parts.filter(Boolean).join(", ");
}
