// webhooks.tsx: lists webhooks, with a form for a new one. A single webhook's page shows its last attempts. From there,
// the user can test, enable, rotate or remove the webhook.

import { WEBHOOK_EVENT_NAMES, WEBHOOK_EVENT_ROWS } from "@inkling/contract";
import type { Delivery, IssuedWebhook, Webhook } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { call, findById } from "../api.ts";
import { Badge, Button, Card, type Kind, RelativeTime } from "../components/basics.tsx";
import { Form, TextField, textOf } from "../components/form.tsx";
import { Loaded } from "../components/loaded.tsx";
import { EndCard, RotateCard, SecretOnce } from "../components/secrets.tsx";
import { TableCard, TwoLines } from "../components/table.tsx";
import { notify, type PageProps, useAction, useLoad } from "../hooks.ts";
import { useRefusal } from "../session.ts";

const REFRESH_MS = 5_000;

export const WebhooksPage = ({ rest }: PageProps) =>
  rest === "" ? <Overview /> : <Detail key={rest} id={rest} />;

function Overview() {
  const webhooks = useLoad((signal) => call("GET webhooks", {}, signal), []);
  const [added, setAdded] = useState<IssuedWebhook>();
  const add = async (values: FormData, form: HTMLFormElement) => {
    const events = values.getAll("event") as Webhook["events"]; // the checkboxes are the events
    const allow_private = values.has("private");
    setAdded(await call("POST webhooks", { url: textOf(values, "url"), events, allow_private }));
    form.reset();
    webhooks.reload();
  };
  return (
    <Loaded from={webhooks}>
      {({ webhooks: rows }) => (
        <>
          {added && <AddedWebhook {...added} />}
          <TableCard
            caption="Webhooks"
            rows={rows}
            rowKey={({ id }) => id}
            columns={COLUMNS}
            empty="No webhooks yet: add the first one below."
          />
          <Card title="Add a webhook">
            <Form action="Add webhook" submit={add}>
              <TextField
                label="Address"
                note="The URL of your service, which receives a POST request for each event."
                name="url"
                placeholder="https://example.com/hooks/inkling"
                required
              />
              <fieldset>
                <legend>Events</legend>
                {WEBHOOK_EVENT_NAMES.map((event) => (
                  <div key={event}>
                    <label class="inline">
                      <input type="checkbox" name="event" value={event} defaultChecked />
                      <span>
                        <code>{event}</code>: {WEBHOOK_EVENT_ROWS[event].when}
                      </span>
                    </label>
                  </div>
                ))}
              </fieldset>
              <label class="inline">
                <input type="checkbox" name="private" />
                Allow plain http and addresses that are not on the public internet
              </label>
            </Form>
          </Card>
        </>
      )}
    </Loaded>
  );
}

const AddedWebhook = ({ id, secret }: IssuedWebhook) => (
  <SecretOnce what="secret" secret={secret}>
    <p>
      Configure the secret in the receiver, which verifies each message's signature. Then send a test message.
    </p>
    <p>
      <a href={`#/webhooks/${id}`}>Open this webhook</a>
    </p>
  </SecretOnce>
);

const COLUMNS = [
  ["Address", ({ id, url }: Webhook) => <a href={`#/webhooks/${id}`}>{url}</a>],
  ["State", (webhook: Webhook) => <State of={webhook} />],
  ["Last delivery", (webhook: Webhook) => <Recent of={webhook} />],
  ["Events", ({ events }: Webhook) => events.join(", ")],
  [
    "Added",
    ({ author, created_at }: Webhook) => (
      <TwoLines below={`by ${author}`}>
        <RelativeTime iso={created_at} />
      </TwoLines>
    ),
  ],
] as const;

function State({ of: { disabled_at, old_secret_until, allow_private, recent } }: { of: Webhook }) {
  if (disabled_at !== null) return <Badge kind="bad">disabled</Badge>;
  const isFailing = recent.last_attempt !== null && recent.last_attempt.outcome !== "delivered";
  const hasTwo = old_secret_until !== null && Date.parse(old_secret_until) > Date.now();
  const notes = [hasTwo && "two secrets", allow_private && "private allowed"].filter(Boolean).join(", ");
  return (
    <TwoLines below={notes}>
      {isFailing ? <Badge kind="bad">failing</Badge> : <Badge kind="good">active</Badge>}
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
  const path = `webhooks/${encodeURIComponent(id)}`;
  const loading = useLoad((signal) => findById<Webhook>(path, "webhook", signal), [id], REFRESH_MS);
  const deliveries = useLoad(
    (signal) => call("GET webhooks/{id}/deliveries", { id, limit: 50 }, signal),
    [id],
    REFRESH_MS,
  );
  return (
    <>
      <p>
        <a href="#/webhooks">All webhooks</a>
      </p>
      <Loaded from={loading}>
        {(webhook) => (
          <>
            <Summary of={webhook} onTested={deliveries.reload} onEnabled={loading.reload} />
            <Loaded from={deliveries}>
              {({ deliveries: rows }) => (
                <TableCard
                  caption="Last deliveries"
                  rows={rows}
                  rowKey={(delivery) => delivery.id}
                  columns={DELIVERY_COLUMNS}
                  empty="Nothing was sent in the last 7 days."
                />
              )}
            </Loaded>
            <div class="pair">
              <Rotate of={webhook} reload={loading.reload} />
              <Remove of={webhook} />
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

interface SummaryProps {
  readonly of: Webhook;
  readonly onTested: () => void;
  readonly onEnabled: () => void;
}

function Summary({ of: webhook, onTested, onEnabled }: SummaryProps) {
  const { id, url, events, author, created_at } = webhook;
  const [run, isRunning] = useAction();
  const readOnly = useRefusal("admin");
  const test = async () => {
    const { outcome, reason } = await call("POST webhooks/{id}/test", { id });
    if (outcome === "delivered") notify("The receiver accepted the test message.");
    else notify(`Not delivered: ${reason}.`, "bad");
    onTested();
  };
  const enable = async () => {
    await call("POST webhooks/{id}/enable", { id });
    notify("Enabled.");
    onEnabled();
  };
  return (
    <Card title={[url, " ", <State key="state" of={webhook} />]}>
      <p>
        <code>{id}</code> added <RelativeTime iso={created_at} /> by {author}, for {events.join(", ")}.
      </p>
      {webhook.recent.last_attempt !== null && (
        <p>
          {webhook.recent.failed} of the newest {webhook.recent.deliveries} deliveries failed.
        </p>
      )}
      {webhook.disabled_at !== null && (
        <p>
          The receiver returned 410 <RelativeTime iso={webhook.disabled_at} />, so nothing more is sent to it.
          Fix the receiver, then enable this webhook. Messages that were not delivered until then are not sent
          again.
        </p>
      )}
      <p class="actions">
        {webhook.disabled_at !== null && (
          <Button text="Enable" class="" isBusy={isRunning} refusal={readOnly} onClick={() => run(enable)} />
        )}
        <Button
          text="Send a test message"
          class=""
          isBusy={isRunning}
          refusal={readOnly}
          onClick={() => run(test)}
        />
      </p>
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

function Rotate({ of: { id }, reload }: { of: Webhook; reload: () => void }) {
  const rotate = async (body: { readonly overlap_seconds: number }) => {
    const { secret } = await call("POST webhooks/{id}/rotate", { id, ...body });
    reload();
    return secret;
  };
  const text =
    "The webhook gets a new secret. The old secret also signs messages, for the time that you chose.";
  return (
    <RotateCard
      what="secret"
      label="The old secret also signs"
      note="Time to replace the secret in the receiver."
      question={["Rotate the secret?", text, "Rotate"]}
      rotate={rotate}
    />
  );
}

function Remove({ of: { id, url } }: { of: Webhook }) {
  const remove = async () => {
    await call("DELETE webhooks/{id}", { id });
    notify("Removed.");
    location.hash = "#/webhooks";
  };
  return (
    <EndCard
      title="Remove"
      text="Its secrets and deliveries are removed as well."
      button="Remove this webhook"
      question={["Remove this webhook?", `${url} receives nothing more.`, "Remove"]}
      run={remove}
    />
  );
}
