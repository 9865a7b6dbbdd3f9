// webhooks.tsx: lists webhooks, with a form for a new one. A single webhook's page shows its last attempts. From there,
// the user can test, enable, rotate or remove the webhook.

import { WEBHOOK_EVENT_NAMES, WEBHOOK_EVENT_ROWS } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { Delivery, Webhook } from "../answers.ts";
import { Notice, RelativeTime, State } from "../components/basics.tsx";
import { Action } from "../components/operation.tsx";
import { ResourceDetail, ResourceList } from "../components/resource.tsx";
import { TwoLines } from "../components/table.tsx";
import type { Columns } from "../components/value.tsx";
import { notify, type PageProps } from "../hooks.ts";
import { isFailing } from "../status.tsx";

const REFRESH_MS = 5_000;
const EVENTS = WEBHOOK_EVENT_NAMES.map(
  (event) => [event, `${event}: ${WEBHOOK_EVENT_ROWS[event].when}`] as const,
);

export const WebhooksPage = ({ rest }: PageProps) =>
  rest === "" ? <Overview /> : <Detail key={rest} id={rest} />;

const COLUMNS: Columns<Webhook> = [["State", stateOf], ["Last delivery", recentOf], "events", "created_at"];

const Overview = () => (
  <ResourceList
    route="GET webhooks"
    caption="Webhooks"
    empty="No webhooks yet: add the first one below."
    columns={[["URL", ({ id, url }) => <a href={`#/webhooks/${id}`}>{url}</a>], ...COLUMNS]}
    create={{
      route: "POST webhooks",
      title: "Add a webhook",
      action: "Add webhook",
      fields: {
        url: {
          label: "URL",
          note: "Your service receives a POST request for each event.",
          placeholder: "https://example.com/hooks/inkling",
        },
        events: { options: EVENTS },
      },
      next: ({ id }) => (
        <>
          <p>
            Configure the secret in the receiver, which verifies each message's signature. Then send a test
            message.
          </p>
          <p>
            <a href={`#/webhooks/${id}`}>Open this webhook</a>
          </p>
        </>
      ),
    }}
  />
);

function stateOf(webhook: Webhook) {
  const { disabled_at, old_secret_until, allow_private } = webhook;
  if (disabled_at !== null) return <State of="disabled" />;
  const hasTwo = old_secret_until !== null && Date.parse(old_secret_until) > Date.now();
  const notes = [hasTwo && "two secrets", allow_private && "private allowed"].filter(Boolean).join(", ");
  return (
    <TwoLines below={notes}>
      <State of={isFailing(webhook) ? "failing" : "active"} />
    </TwoLines>
  );
}

/** The last attempt to deliver, and how many of the newest deliveries failed. */
function recentOf({ recent: { deliveries, failed, last_attempt: last } }: Webhook) {
  if (last === null) return "none";
  return (
    <TwoLines below={`${failed} of ${deliveries} failed`}>
      {last.reason ?? `returned ${last.status}`} <RelativeTime iso={last.at} />
    </TwoLines>
  );
}

function Detail({ id }: { id: string }) {
  const [tests, setTests] = useState(0);
  return (
    <ResourceDetail
      route="GET webhooks/{id}"
      id={id}
      noun="webhook"
      nameOf={({ url }) => url}
      everyMs={REFRESH_MS}
      fields={COLUMNS}
      actions={(webhook, reload) => (
        <Buttons of={webhook} reload={reload} onTested={() => setTests(tests + 1)} />
      )}
    >
      {() => (
        <ResourceList
          route="GET webhooks/{id}/deliveries"
          input={{ id }}
          caption="Last deliveries"
          empty="Nothing was sent in the last 7 days."
          columns={DELIVERY_COLUMNS}
          first={50}
          everyMs={REFRESH_MS}
          changes={tests}
        />
      )}
    </ResourceDetail>
  );
}

interface ButtonsProps {
  readonly of: Webhook;
  readonly reload: () => void;
  readonly onTested: () => void;
}

const Buttons = ({ of: { id, url, disabled_at }, reload, onTested }: ButtonsProps) => (
  <>
    {disabled_at !== null && (
      <>
        <Notice kind="warn">
          The receiver returned 410 <RelativeTime iso={disabled_at} />, so nothing more is sent to it. Fix the
          receiver, then enable this webhook. Messages that were not delivered until then are not sent again.
        </Notice>
        <Action
          route="POST webhooks/{id}/enable"
          input={{ id }}
          text="Enable"
          class=""
          message="Enabled."
          done={reload}
        />
      </>
    )}
    <Action
      route="POST webhooks/{id}/test"
      input={{ id }}
      text="Send a test message"
      class=""
      done={({ outcome, reason }) => {
        if (outcome === "delivered") notify("The receiver accepted the test message.");
        else notify(`The test message was not delivered: ${reason}.`, "bad");
        onTested();
      }}
    />
    <Action
      route="POST webhooks/{id}/rotate"
      input={{ id }}
      text="Rotate"
      of="the secret"
      ask="The webhook gets a new secret. Replace the old secret in the receiver while both sign."
      done={reload}
    />
    <Action
      route="DELETE webhooks/{id}"
      input={{ id }}
      text="Remove"
      of="this webhook"
      class="danger"
      ask={`${url} receives nothing more. Its secrets and deliveries are removed as well.`}
      message="Removed."
      done={() => {
        location.hash = "#/webhooks";
      }}
    />
  </>
);

const DELIVERY_COLUMNS: Columns<Delivery> = [
  ["Queued", ({ created_at }) => <RelativeTime iso={created_at} />],
  ["Event", ({ event, id }) => <TwoLines below={<code>{id}</code>}>{event}</TwoLines>],
  [
    "State",
    ({ state, next_attempt_at: next }) => (
      <TwoLines below={next && ["next attempt ", <RelativeTime key="next" iso={next} />]}>
        <State of={state === "ended" ? "given up" : state} />
      </TwoLines>
    ),
  ],
  ["Attempts", ({ attempts }) => attempts, "number"],
  [
    "Last attempt",
    ({ last_attempt: last }) =>
      last && (
        <TwoLines below={<RelativeTime iso={last.at} />}>{last.reason ?? `returned ${last.status}`}</TwoLines>
      ),
  ],
];
