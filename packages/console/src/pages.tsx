// pages.tsx: lists every page of the console, in the order of the navigation. A page that is only the list of a
// resource is here. Any other page is in its own file, which is loaded on demand if it is large.

import { ADMIN_ROLE_TEXTS, ADMIN_ROLES } from "@inkling/contract";
import type { FunctionComponent } from "preact";
import { lazyPage } from "./components/loaded.tsx";
import { Action } from "./components/operation.tsx";
import { ResourceList } from "./components/resource.tsx";
import type { PageProps } from "./hooks.ts";
import { AuditPage } from "./pages/audit.tsx";
import { DataPage } from "./pages/data/data.tsx";
import { HostsPage } from "./pages/hosts.tsx";
import { KeysPage } from "./pages/keys/keys.tsx";
import { LookupPage } from "./pages/lookup/lookup.tsx";
import { OverridesPage } from "./pages/overrides/overrides.tsx";
import { StartPage } from "./pages/start.tsx";
import { TrafficPage } from "./pages/traffic.tsx";

const AssessPage = lazyPage(async () => (await import("./pages/assess/assess.tsx")).AssessPage);
const RulesPage = lazyPage(async () => (await import("./pages/rules/rules.tsx")).RulesPage);
const DecisionsPage = lazyPage(async () => (await import("./pages/decisions/decisions.tsx")).DecisionsPage);
const ReviewPage = lazyPage(async () => (await import("./pages/decisions/review.tsx")).ReviewPage);
const CalibrationPage = lazyPage(async () => (await import("./pages/calibration.tsx")).CalibrationPage);
const WebhooksPage = lazyPage(async () => (await import("./pages/webhooks.tsx")).WebhooksPage);

const ROLES = ADMIN_ROLES.map((role) => [role, `${role}: ${ADMIN_ROLE_TEXTS[role]}`] as const);

const TokensPage = () => (
  <ResourceList
    route="GET admin-tokens"
    caption="Named admin tokens"
    empty="No named admin tokens yet: create the first one below."
    columns={["name", "role", "state", "created_at", "last_used_at", "expires_at"]}
    actions={({ name }, reload) => (
      <Action
        route="DELETE admin-tokens/{id}"
        input={{ id: name }}
        text="Revoke"
        of={name}
        ask="Programs that use the token get 401 immediately, and its console sessions end. This cannot be undone."
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
        name: {
          note: "1 to 63 lower-case letters, digits, dots, underscores and hyphens, beginning with a letter or digit.",
          placeholder: "ada",
        },
        role: { options: ROLES },
      },
    }}
  />
);

/** The groups of the navigation. */
export const GROUPS = ["Investigate", "Rules", "Access", "Operate"] as const;

interface PageRow {
  /** The part of the address after "#/". */
  readonly id: string;
  readonly title: string;
  /** Undefined for the start page, which is above the groups. */
  readonly group?: (typeof GROUPS)[number];
  /** Markdown for the table in docs/console.md. */
  readonly content: string;
  readonly Page: FunctionComponent<PageProps>;
}

export const PAGES: readonly PageRow[] = [
  {
    id: "start",
    title: "Start",
    content:
      "whether the server is healthy, how fresh its data is, the traffic of the last hour, and what needs you, with links to where you fix it",
    Page: StartPage,
  },
  {
    id: "lookup",
    title: "Lookup",
    group: "Investigate",
    content:
      "everything about an address, network, AS, email address or domain, and one answer for each value in a text or file ([details](#lookup))",
    Page: LookupPage,
  },
  {
    id: "decisions",
    title: "Decisions",
    group: "Investigate",
    content:
      "find [stored decisions](decisions.md#stored-decisions), read their reasons, label their outcomes, and import outcomes from a file ([details](#decisions))",
    Page: DecisionsPage,
  },
  {
    id: "review",
    title: "Review",
    group: "Investigate",
    content:
      "label the decisions that a rule sent to [review](decisions.md#review), oldest first, by keyboard ([details](#review))",
    Page: ReviewPage,
  },
  {
    id: "assess",
    title: "Assess",
    group: "Investigate",
    content: "a [decision](decisions.md) about one visitor ([details](#assess))",
    Page: AssessPage,
  },
  {
    id: "rules",
    title: "Rules",
    group: "Rules",
    content: "write, check, try and publish [rulesets](rulesets.md) ([details](#rules))",
    Page: RulesPage,
  },
  {
    id: "calibration",
    title: "Calibration",
    group: "Rules",
    content:
      "the precision of each reason and rule; publish the weights that [outcomes suggest](rulesets.md#calibration) ([details](#calibration))",
    Page: CalibrationPage,
  },
  {
    id: "overrides",
    title: "Overrides",
    group: "Rules",
    content:
      "search, add, edit, remove (one or many), export and import [overrides](overrides.md); expired and removed overrides, each with a link to its changes",
    Page: OverridesPage,
  },
  {
    id: "keys",
    title: "Keys",
    group: "Access",
    content:
      "create, search, limit, trace, rotate and revoke keys, one or many at a time; each key's lookups, refusals and flags by day",
    Page: KeysPage,
  },
  {
    id: "tokens",
    title: "Admin tokens",
    group: "Access",
    content: "create and revoke named tokens; each token's role, author, last use and expiry",
    Page: TokensPage,
  },
  {
    id: "audit",
    title: "Audit",
    group: "Access",
    content:
      "the [audit trail](audit.md): who changed what, when and how, with the states before and after. You can filter by action, source, time, author and subject, and link to a filter: `#/audit?subject=ovr_…`",
    Page: AuditPage,
  },
  {
    id: "data",
    title: "Data",
    group: "Operate",
    content:
      "feeds with state, age and entries, which you can filter by state; releases and their differences; update, roll back, pin. If several feeds have the same error, the page shows the error once. Each feed has its own page ([details](#feeds))",
    Page: DataPage,
  },
  {
    id: "traffic",
    title: "Traffic",
    group: "Operate",
    content:
      "requests, latency of single lookups, lookups (single, and values in batches), flags, refusals and countries. The page covers all hosts for 24 hours, 7 days or 30 days, or this host by the minute for up to 6 hours. It leaves out sandbox keys, except in the latency and the refusals. You can link to a period",
    Page: TrafficPage,
  },
  {
    id: "hosts",
    title: "Hosts",
    group: "Operate",
    content:
      "the [hosts of the group](several-hosts.md#hosts): state and its reason, release, load, clock, last contact",
    Page: HostsPage,
  },
  {
    id: "webhooks",
    title: "Webhooks",
    group: "Operate",
    content:
      "add, test, rotate and remove [webhooks](webhooks.md); the last deliveries and the results of their attempts",
    Page: WebhooksPage,
  },
];
