// keys.tsx: lists all API keys, with a form for a new key. Shows a single key if the page's address has an id.

import type { KeySettings, ListedKey } from "@inkling/server/admin-answers";
import { sum } from "d3-array";
import { useState } from "preact/hooks";
import { call, listAll } from "../../api.ts";
import { Card, Expiry } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { SecretOnce } from "../../components/secrets.tsx";
import { TableCard, TwoLines } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import { type PageProps, useLoad } from "../../hooks.ts";
import { KeyDetail, KeyState } from "./key.tsx";
import { KeyForm } from "./key-form.tsx";
import { countRefused, SCOPES } from "./usage.tsx";

export const KeysPage = ({ rest }: PageProps) =>
  rest === "" ? <Overview /> : <KeyDetail key={rest} id={rest} />;

function Overview() {
  const keys = useLoad((signal) => listAll<ListedKey>("keys", "keys", signal), []);
  const [created, setCreated] = useState<{ id: string; token: string }>();
  const create = async (settings: KeySettings, form: HTMLFormElement) => {
    setCreated(await call("POST keys", settings));
    form.reset();
    keys.reload();
  };
  return (
    <Loaded from={keys}>
      {(rows) => (
        <>
          {created && <CreatedKey {...created} />}
          <TableCard
            caption="API keys"
            rows={rows}
            rowKey={({ id }) => id}
            columns={COLUMNS}
            empty="No keys yet: create the first one below."
          />
          <Card title="New key">
            <KeyForm submit={create} />
          </Card>
        </>
      )}
    </Loaded>
  );
}

/** The new key at the top of the page, and how to use it. */
const CreatedKey = ({ id, token }: { id: string; token: string }) => (
  <SecretOnce what="key" secret={token}>
    <p>
      Put the key where the application reads its secrets. The application sends it with each lookup as{" "}
      <code>Authorization: Bearer KEY</code>. All servers accept it within a second.
    </p>
    <p>
      <a href={`#/keys/${id}`}>Open this key</a>
    </p>
  </SecretOnce>
);

const COLUMNS = [
  ["Name", nameOf],
  ["State", ({ state }: ListedKey) => <KeyState state={state} />],
  ["Scopes", ({ scopes }: ListedKey) => (scopes.length === SCOPES.length ? "all" : scopes.join(", "))],
  ["Limits", limitsOf],
  ["Lookups today", lookupsOf, "number"],
  ["Last used", ({ last_used_at }: ListedKey) => last_used_at ?? "never"],
  ["Expires", ({ expires_at }: ListedKey) => <Expiry iso={expires_at} />],
] as const;

function nameOf({ id, name, hint }: ListedKey) {
  return (
    <TwoLines below={<code>{hint}</code>}>
      <a href={`#/keys/${id}`}>{name}</a>
    </TwoLines>
  );
}

function limitsOf({ rate, burst, quota, networks }: ListedKey): string {
  const parts = [
    rate === null ? "default rate" : rate === 0 ? "no rate limit" : `${formatCount(rate)}/s`,
    burst !== null && `burst ${formatCount(burst)}`,
    quota !== null && `${formatCount(quota)} per day`,
    networks.length > 0 && `from ${networks.length} network${networks.length === 1 ? "" : "s"}`,
  ];
  return parts.filter(Boolean).join(", ");
}

function lookupsOf({ lookups_today, refused_today }: ListedKey) {
  const refused = countRefused(refused_today);
  const text = refused > 0 && <span class="bad">{formatCount(refused)} refused</span>;
  return <TwoLines below={text}>{formatCount(sum(Object.values(lookups_today)))}</TwoLines>;
}
