// webhooks.ts: formats the texts of `inkling webhooks add | list | test | rotate | enable | remove | deliveries`.

import { type Output, WEBHOOKS } from "@inkling/operations";
import type { Command } from "commander";
import type { Context } from "../runtime/command.ts";
import { addResource } from "../runtime/operation-command.ts";
import { EXIT } from "../terminal/errors.ts";
import { formatAgo, printable, table } from "../terminal/terminal.ts";

const SHOWN_ONCE = "The secret is shown only once.";

export const addWebhooks = (program: Command, context: Context) =>
  addResource(program, context, WEBHOOKS, {
    add_webhook: {
      text: ({ secret }) => secret,
      remark: ({ id }) => `Added ${id}. ${SHOWN_ONCE} Try it: \`inkling webhooks test ${id}\``,
    },
    list_webhooks: {
      empty: "There are no webhooks yet; `inkling webhooks add` adds one.",
      text: ({ webhooks }) => listText(webhooks),
    },
    test_webhook: {
      text: ({ delivery, outcome, reason }) =>
        outcome === "delivered" ? `Delivered ${delivery}.` : `Not delivered: ${reason}.`,
      exitCode: ({ outcome }) => (outcome === "delivered" ? EXIT.ok : EXIT.error),
    },
    rotate_webhook: {
      text: ({ secret }) => secret,
      remark: ({ id, old_secret_until: until }, { overlap_seconds }) =>
        `New secret for ${id}. ${SHOWN_ONCE} The old secret stops signing ${overlap_seconds === 0 ? "now" : `at ${until}`}.`,
    },
    enable_webhook: { text: ({ id }) => `${id} is enabled.` },
    remove_webhook: {
      text: ({ id, url }) => `Removed ${id}: Inkling sends nothing more to ${printable(url)}.`,
    },
    list_deliveries: {
      empty: "Nothing was sent in the last 7 days.",
      text: ({ deliveries }) => deliveriesText(deliveries),
    },
  });

type Webhook = Output<typeof WEBHOOKS.operations.get_webhook>;
type Delivery = Output<typeof WEBHOOKS.operations.list_deliveries>["deliveries"][number];

const ago = (iso: string) => formatAgo(Date.now() - Date.parse(iso));
const attemptText = ({ status, reason }: NonNullable<Delivery["last_attempt"]>) =>
  reason ?? `returned ${status}`;

function listText(webhooks: readonly Webhook[]): string {
  const rows = webhooks.map(({ recent: { last_attempt: last, failed, deliveries }, ...webhook }) => [
    webhook.id,
    stateOf(webhook, last === null || last.outcome === "delivered" ? "active" : "failing"),
    last === null ? "" : `${attemptText(last)}, ${ago(last.at)}`,
    deliveries === 0 ? "" : `${failed} of ${deliveries}`,
    webhook.url,
    webhook.events.join(", "),
    webhook.author,
    ago(webhook.created_at),
  ]);
  const head = ["ID", "STATE", "LAST ATTEMPT", "FAILED", "URL", "EVENTS", "AUTHOR", "ADDED"];
  return printable(table([head, ...rows]));
}

function stateOf(
  { disabled_at, old_secret_until, allow_private }: Omit<Webhook, "recent">,
  state: string,
): string {
  if (disabled_at !== null) return "disabled";
  const hasTwo = old_secret_until !== null && Date.parse(old_secret_until) > Date.now();
  return [state, hasTwo && "two secrets", allow_private && "private allowed"].filter(Boolean).join(", ");
}

function deliveriesText(deliveries: readonly Delivery[]): string {
  const rows = deliveries.map(({ id, event, state, created_at, attempts, next_attempt_at, last_attempt }) => [
    id,
    ago(created_at),
    event,
    state,
    String(attempts),
    last_attempt === null ? "" : attemptText(last_attempt),
    next_attempt_at ?? "",
  ]);
  const head = ["ID", "QUEUED", "EVENT", "STATE", "ATTEMPTS", "LAST ATTEMPT", "NEXT ATTEMPT"];
  return printable(table([head, ...rows], [head.indexOf("ATTEMPTS")]));
}
