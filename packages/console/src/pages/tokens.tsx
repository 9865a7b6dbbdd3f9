// tokens.tsx: lists named admin tokens, creates and revokes them.

import { ADMIN_ROLE_TEXTS, ADMIN_ROLES } from "@inkling/contract";
import { RelativeTime } from "../components/basics.tsx";
import { Action } from "../components/operation.tsx";
import { ResourceList } from "../components/resource.tsx";
import { TwoLines } from "../components/table.tsx";

const ROLES = ADMIN_ROLES.map((role) => [role, `${role}: ${ADMIN_ROLE_TEXTS[role]}`] as const);

export const TokensPage = () => (
  <ResourceList
    route="GET admin-tokens"
    rows={({ admin_tokens }) => admin_tokens}
    rowKey={({ name }) => name}
    caption="Named admin tokens"
    empty="No named admin tokens yet: create the first one below."
    columns={[
      ["Name", ({ name, hint }) => <TwoLines below={<code>{hint}</code>}>{name}</TwoLines>],
      "role",
      "state",
      [
        "Created",
        ({ author, parent, created_at }) => (
          <TwoLines below={`by ${author}${parent !== null && parent !== author ? `, with ${parent}` : ""}`}>
            <RelativeTime iso={created_at} />
          </TwoLines>
        ),
      ],
      "last_used_at",
      "expires_at",
    ]}
    actions={({ name }, reload) => (
      <Action
        route="DELETE admin-tokens/{id}"
        input={{ id: name }}
        text="Revoke"
        label={`Revoke ${name}`}
        question={[
          `Revoke ${name}?`,
          "Programs that use the token get 401 immediately, and its console sessions end. This cannot be undone.",
          "Revoke",
        ]}
        isDanger
        message={({ also_revoked }) =>
          also_revoked.length > 0 ? `Revoked, and ${also_revoked.join(", ")} as well.` : "Revoked."
        }
        done={reload}
      />
    )}
    create={{
      route: "POST admin-tokens",
      title: "New admin token",
      intro:
        "Give each person and each program its own token. The audit trail shows the token's name as the author.",
      action: "Create token",
      fields: {
        name: { note: "Lower-case letters, digits, dots and hyphens.", placeholder: "ada" },
        role: { options: ROLES },
      },
      secret: ["token", ({ token }) => token],
    }}
  />
);
