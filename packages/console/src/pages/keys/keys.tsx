// keys.tsx: lists all API keys, with a form for a new key. Shows a single key if the page's address has an id.

import { sum } from "d3-array";
import type { ListedKey } from "../../answers.ts";
import { ResourceList } from "../../components/resource.tsx";
import { TwoLines } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import type { PageProps } from "../../hooks.ts";
import { KEY_FIELDS, KeyDetail } from "./key.tsx";
import { countRefused, SCOPES } from "./usage.tsx";

export const KeysPage = ({ rest }: PageProps) =>
  rest === "" ? <Overview /> : <KeyDetail key={rest} id={rest} />;

const MODES = [
  ["live", "live: answers from data"],
  ["test", "sandbox: fixed answers"],
] as const;

const Overview = () => (
  <ResourceList
    route="GET keys"
    caption="API keys"
    empty="No keys yet: create the first one below."
    columns={[
      [
        "Name",
        ({ id, name, hint }) => (
          <TwoLines below={<code>{hint}</code>}>
            <a href={`#/keys/${id}`}>{name}</a>
          </TwoLines>
        ),
      ],
      "state",
      ["Scopes", ({ scopes }) => (scopes.length === SCOPES.length ? "all" : scopes.join(", "))],
      ["Limits", limitsOf],
      ["Lookups today", lookupsOf, "number"],
      "last_used_at",
      "expires_at",
    ]}
    bulk={{
      route: "DELETE keys/{id}",
      verb: ["Revoke", "Revoked"],
      ask: () => "Applications that use the keys get 401 within a second. This cannot be undone.",
      input: ({ id }) => ({ id }),
    }}
    create={{
      route: "POST keys",
      title: "New key",
      action: "Create key",
      fields: { ...KEY_FIELDS, mode: { options: MODES, note: "" } },
      next: ({ id }) => (
        <>
          <p>
            Put the key where the application reads its secrets. The application sends it with each lookup as{" "}
            <code>Authorization: Bearer KEY</code>. All servers accept it within a second.
          </p>
          <p>
            <a href={`#/keys/${id}`}>Open this key</a>
          </p>
        </>
      ),
    }}
  />
);

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
