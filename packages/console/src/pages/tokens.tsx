// tokens.tsx: lists named admin tokens, with a form for a new token and a button that revokes one.

import { ADMIN_ROLE_TEXTS, ADMIN_ROLES, type AdminRole } from "@inkling/contract";
import type { AdminToken, IssuedAdminToken } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { call } from "../api.ts";
import { Badge, Card, Expiry, RelativeTime } from "../components/basics.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ExpiryField, expiryOf, Field, Form, Select, TextField, textOf } from "../components/form.tsx";
import { Loaded } from "../components/loaded.tsx";
import { SecretOnce } from "../components/secrets.tsx";
import { TableCard, TwoLines } from "../components/table.tsx";
import { notify, useLoad } from "../hooks.ts";

const ROLES = ADMIN_ROLES.map((role) => [role, `${role}: ${ADMIN_ROLE_TEXTS[role]}`] as const);

export function TokensPage() {
  const tokens = useLoad((signal) => call("GET admin-tokens", {}, signal), []);
  const [created, setCreated] = useState<IssuedAdminToken>();
  const create = async (values: FormData, form: HTMLFormElement) => {
    const role = textOf(values, "role") as AdminRole; // the options are the roles
    setCreated(await call("POST admin-tokens", { name: textOf(values, "name"), role, ...expiryOf(values) }));
    form.reset();
    tokens.reload();
  };
  return (
    <Loaded from={tokens}>
      {({ admin_tokens: rows }) => (
        <>
          <TableCard
            caption="Named admin tokens"
            rows={rows}
            rowKey={({ name }) => name}
            columns={[...COLUMNS, ["Action", (token) => <Revoke of={token} reload={tokens.reload} />]]}
            empty="No named admin tokens yet: create the first one below."
          />
          <Card title="New admin token">
            <p>
              Give each person and each program its own token. The audit trail shows the token's name as the
              author.
            </p>
            <Form class="grid" action="Create token" submit={create}>
              <TextField
                label="Name"
                note="Lower-case letters, digits, dots and hyphens."
                name="name"
                placeholder="ada"
                maxLength={63}
                required
              />
              <Field label="Role">
                <Select name="role" options={ROLES} />
              </Field>
              <ExpiryField />
            </Form>
            {created && <SecretOnce what="token" secret={created.token} />}
          </Card>
        </>
      )}
    </Loaded>
  );
}

const COLUMNS = [
  ["Name", ({ name, hint }: AdminToken) => <TwoLines below={<code>{hint}</code>}>{name}</TwoLines>],
  ["Role", ({ role }: AdminToken) => role],
  ["State", ({ state }: AdminToken) => <Badge kind={state === "active" ? "good" : "faint"}>{state}</Badge>],
  [
    "Created",
    ({ author, parent, created_at }: AdminToken) => (
      <TwoLines below={`by ${author}${parent !== null && parent !== author ? `, with ${parent}` : ""}`}>
        <RelativeTime iso={created_at} />
      </TwoLines>
    ),
  ],
  ["Last used", ({ last_used_at }: AdminToken) => last_used_at ?? "never"],
  ["Expires", ({ expires_at }: AdminToken) => <Expiry iso={expires_at} />],
] as const;

function Revoke({ of: { name }, reload }: { of: AdminToken; reload: () => void }) {
  const run = async () => {
    await call("DELETE admin-tokens/{id}", { id: name });
    notify("Revoked.");
    reload();
  };
  const text =
    "Programs that use the token or a token that it created get 401 immediately, and its console sessions end. This cannot be undone.";
  const question = [`Revoke ${name}?`, text, "Revoke"] as const;
  return <ConfirmButton text="Revoke" label={`Revoke ${name}`} question={question} isDanger run={run} />;
}
