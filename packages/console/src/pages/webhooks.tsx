// webhooks.tsx: lists webhooks, with a form for a new one. A single webhook's page shows its last attempts. From there,
// the user can test, enable, rotate or remove the webhook.

import { WEBHOOK_EVENT_NAMES, WEBHOOK_EVENT_ROWS } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { Delivery, Webhook } from "../answers.ts";
import { Badge, Card, type Kind, RelativeTime } from "../components/basics.tsx";
import { Action } from "../components/operation.tsx";
import { ResourceDetail, ResourceList } from "../components/resource.tsx";
import { OVERLAPS } from "../components/secrets.tsx";
import { TwoLines } from "../components/table.tsx";
import { notify, type PageProps } from "../hooks.ts";
import { isFailing } from "../status.tsx";

const REFRESH_MS = 5_000;
const EVENTS = WEBHOOK_EVENT_NAMES.map(
  (event) => [event, `${event}: ${WEBHOOK_EVENT_ROWS[event].when}`] as const,
);

export const WebhooksPage = ({ rest }: PageProps) =>
  rest === "" ? <Overview /> : <Detail key={rest} id={rest} />;

const Overview = () => (
  <ResourceList
    route="GET webhooks"
    rows={({ webhooks }) => webhooks}
    rowKey={({ id }) => id}
    caption="Webhooks"
    empty="No webhooks yet: add the first one below."
    columns={[
      ["URL", ({ id, url }) => <a href={`#/webhooks/${id}`}>{url}</a>],
      ["State", (webhook) => <State of={webhook} />],
      ["Last delivery", (webhook) => <Recent of={webhook} />],
      "events",
      [
        "Added",
        ({ author, created_at }) => (
          <TwoLines below={`by ${author}`}>
            <RelativeTime iso={created_at} />
          </TwoLines>
        ),
      ],
    ]}
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
      secret: [
        "secret",
        ({ secret }) => secret,
        ({ id }) => (
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
      ],
    }}
  />
);

function State({ of }: { of: Webhook }) {
  const { disabled_at, old_secret_until, allow_private } = of;
  if (disabled_at !== null) return <Badge kind="bad">disabled</Badge>;
  const hasTwo = old_secret_until !== null && Date.parse(old_secret_until) > Date.now();
  const notes = [hasTwo && "two secrets", allow_private && "private allowed"].filter(Boolean).join(", ");
  return (
    <TwoLines below={notes}>
      {isFailing(of) ? <Badge kind="bad">failing</Badge> : <Badge kind="good">active</Badge>}
    </TwoLines>
  );
}

/** The last attempt to deliver, and how many of the newest deliveries failed. */
function Recent({ of: { recent } }: { of: Webhook }) {
  const { deliveries, failed, last_attempt: last } = recent;
  if (last === null) return <>none</>;
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
    >
      {(webhook, reload) => (
        <>
          <Summary of={webhook} reload={reload} onTested={() => setTests(tests + 1)} />
          <ResourceList
            route="GET webhooks/{id}/deliveries"
            input={{ id }}
            rows={({ deliveries }) => deliveries}
            rowKey={(delivery) => delivery.id}
            caption="Last deliveries"
            empty="Nothing was sent in the last 7 days."
            columns={DELIVERY_COLUMNS}
            first={50}
            everyMs={REFRESH_MS}
            changes={tests}
          />
        </>
      )}
    </ResourceDetail>
  );
}

interface SummaryProps {
  readonly of: Webhook;
  readonly reload: () => void;
  readonly onTested: () => void;
}

function Summary({ of: webhook, reload, onTested }: SummaryProps) {
  const { id, url, events, author, created_at, recent, disabled_at } = webhook;
  return (
    <Card title={<State of={webhook} />}>
      <p>
        <code>{id}</code> added <RelativeTime iso={created_at} /> by {author}, for {events.join(", ")}.
      </p>
      {recent.last_attempt !== null && (
        <p>
          {recent.failed} of the newest {recent.deliveries} deliveries failed.
        </p>
      )}
      {disabled_at !== null && (
        <p>
          The receiver returned 410 <RelativeTime iso={disabled_at} />, so nothing more is sent to it. Fix the
          receiver, then enable this webhook. Messages that were not delivered until then are not sent again.
        </p>
      )}
      <div class="actions">
        {disabled_at !== null && (
          <Action
            route="POST webhooks/{id}/enable"
            input={{ id }}
            text="Enable"
            class=""
            message="Enabled."
            done={reload}
          />
        )}
        <Action
          route="POST webhooks/{id}/test"
          input={{ id }}
          text="Send a test message"
          class=""
          done={({ outcome, reason }) => {
            if (outcome === "delivered") notify("The receiver accepted the test message.");
            else notify(`Not delivered: ${reason}.`, "bad");
            onTested();
          }}
        />
        <Action
          route="POST webhooks/{id}/rotate"
          input={{ id }}
          text="Rotate"
          question={["Rotate the secret?", "The webhook gets a new secret.", "Rotate"]}
          fields={{
            overlap_seconds: {
              label: "The old secret keeps signing for",
              note: "Time to replace the secret in the receiver.",
              options: OVERLAPS,
            },
          }}
          secret={["secret", ({ secret }) => secret]}
          done={reload}
        />
        <Action
          route="DELETE webhooks/{id}"
          input={{ id }}
          text="Remove this webhook"
          class="danger"
          question={[
            "Remove this webhook?",
            `${url} receives nothing more. Its secrets and deliveries are removed as well.`,
            "Remove",
          ]}
          isDanger
          message="Removed."
          done={() => {
            location.hash = "#/webhooks";
          }}
        />
      </div>
    </Card>
  );
}

const KINDS: Readonly<Record<Delivery["state"], Kind>> = {
  waiting: "warn",
  delivered: "good",
  ended: "bad",
};

const DELIVERY_COLUMNS = [
  ["Queued", ({ created_at }: Delivery) => <RelativeTime iso={created_at} />],
  ["Event", ({ event, id }: Delivery) => <TwoLines below={<code>{id}</code>}>{event}</TwoLines>],
  [
    "State",
    ({ state, next_attempt_at }: Delivery) => (
      <TwoLines
        below={
          next_attempt_at && (
            <>
              next attempt <RelativeTime iso={next_attempt_at} />
            </>
          )
        }
      >
        <Badge kind={KINDS[state]}>{state === "ended" ? "given up" : state}</Badge>
      </TwoLines>
    ),
  ],
  ["Attempts", ({ attempts }: Delivery) => attempts, "number"],
  [
    "Last attempt",
    ({ last_attempt: last }: Delivery) =>
      last && (
        <TwoLines below={<RelativeTime iso={last.at} />}>{last.reason ?? `returned ${last.status}`}</TwoLines>
      ),
  ],
] as const;
