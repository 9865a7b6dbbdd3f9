// webhooks.ts: `inkling webhooks add | list | test | rotate | enable | remove | deliveries` manages alerts to the
// operator's own services.
//
// The command writes directly to the database, as `inkling keys` does. Running servers then send the
// events. The command itself sends a test message, so it needs no server.

import { WEBHOOK_EVENT_NAMES, type WebhookEvent } from "@inkling/contract";
import { readWebhookUrl, sendTest } from "@inkling/server";
import {
  type Attempt,
  attemptJson,
  type Delivery,
  deliveryJson,
  healthJson,
  type IssuedWebhook,
  MAX_PAGE,
  type Webhook,
  type WebhookHealth,
  webhookJson,
} from "@inkling/store";
import type { Command } from "commander";
import { cliActor } from "../config/user.ts";
import { addAction, type Context, type Flags, joined, type Result } from "../runtime/command.ts";
import { overlapOf } from "../runtime/durations.ts";
import { AUTHOR, authorOf, usage } from "../runtime/put-overrides.ts";
import { warnOfNewDatabase, withExistingStore, withStore } from "../runtime/store.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { formatAgo, printable, table } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;
const SHOWN_ONCE = "The secret is shown only once.";

export function addWebhooks(program: Command, context: Context): void {
  const webhooks = program
    .command("webhooks")
    .description("manage webhooks, which send signed alerts to your own services");
  addAdd(webhooks, context);
  addList(webhooks, context);
  addTest(webhooks, context);
  addRotate(webhooks, context);
  addEnable(webhooks, context);
  addRemove(webhooks, context);
  addDeliveries(webhooks, context);
}

function addAdd(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("add <url>")
    .description("add a webhook; standard output has only its secret")
    .requiredOption("--events <list>", `events to send: ${WEBHOOK_EVENT_NAMES.join(", ")}, or all`, joined)
    .option("--allow-inner", "accept plain http, and addresses that are not on the public internet")
    .option(...AUTHOR)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Running servers send events from now on. The receiver verifies each message with the secret (see docs/webhooks.md).

Examples:
  inkling webhooks add https://example.com/hooks/inkling --events assessment.changed,data.stale
  SECRET=$(inkling webhooks add http://10.0.0.5:9000/hook --events all --allow-inner)`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, url: string) => {
    const allowInner = flags.allowInner === true;
    const read = readWebhookUrl(url, allowInner);
    if ("problem" in read) {
      throw usage(
        `Cannot use this webhook URL: it ${read.problem}`.replace("it its", "its"),
        allowInner
          ? "`inkling webhooks add --help` shows examples"
          : "a receiver in your own network or without TLS needs --allow-inner",
      );
    }
    const wanted = { url: read.url, events: eventsOf(flags.events), allowInner };
    warnOfNewDatabase(settings, context.terminal);
    const by = cliActor(authorOf(flags.author));
    const issued = await withStore(settings, (store) => store.webhooks.add(wanted, by));
    const { id } = issued.webhook;
    const remark = `Added ${id}. ${SHOWN_ONCE} Try it: \`inkling webhooks test ${id}\``;
    return issuedResult(context, flags, issued, remark);
  });
}

function eventsOf(text: string): WebhookEvent[] {
  const named = text.split(",").filter(Boolean);
  if (named.includes("all")) return [...WEBHOOK_EVENT_NAMES];
  const wrong = named.find((name) => !WEBHOOK_EVENT_NAMES.some((event) => event === name));
  if (wrong === undefined && named.length > 0)
    return WEBHOOK_EVENT_NAMES.filter((event) => named.includes(event));
  throw usage(
    `--events: there is no event ${JSON.stringify((wrong ?? "").slice(0, 40))}`,
    `the events are ${WEBHOOK_EVENT_NAMES.join(", ")}; all selects every event`,
  );
}

/** Prints only the secret to standard output, so that a shell can assign it. */
function issuedResult(
  { terminal }: Context,
  flags: Flags,
  { webhook, secret }: IssuedWebhook,
  remark: string,
): Result {
  if (!flags.json) terminal.err(`${remark}\n`);
  return { json: { ...webhookJson(webhook), secret }, text: secret };
}

function addList(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("list")
    .description("list webhooks, oldest first, without their secrets")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
A webhook is "failing" if the last attempt to deliver failed. FAILED counts the newest 100 deliveries at most.

Examples:
  inkling webhooks list`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const all = await withExistingStore(settings, async ({ webhooks, deliveries }) =>
      Promise.all(
        (await webhooks.list()).map(async (webhook) => ({
          webhook,
          health: await deliveries.health(webhook.id),
        })),
      ),
    );
    if (all.length === 0 && !flags.json) {
      return context.terminal.err("There are no webhooks yet; `inkling webhooks add` adds one.\n");
    }
    const json = all.map(({ webhook, health }) => ({ ...webhookJson(webhook), recent: healthJson(health) }));
    return { json, text: () => listText(all, Date.now()) };
  });
}

interface Listed {
  readonly webhook: Webhook;
  readonly health: WebhookHealth;
}

function listText(all: readonly Listed[], now: number): string {
  const rows = all.map(({ webhook, health }) => [
    webhook.id,
    stateOf(webhook, health, now),
    health.last === undefined ? "" : `${outcomeText(health.last)}, ${formatAgo(now - health.last.at)}`,
    health.deliveries === 0 ? "" : `${health.failed} of ${health.deliveries}`,
    webhook.url,
    webhook.events.join(", "),
    webhook.author,
    formatAgo(now - webhook.createdAt),
  ]);
  const head = ["ID", "STATE", "LAST ATTEMPT", "FAILED", "URL", "EVENTS", "AUTHOR", "ADDED"];
  return printable(table([head, ...rows]));
}

function stateOf(
  { disabledAt, oldSecretUntil = 0, allowInner }: Webhook,
  { last }: WebhookHealth,
  now: number,
): string {
  if (disabledAt !== undefined) return "disabled";
  const state = last === undefined || last.outcome === "delivered" ? "active" : "failing";
  const parts = [oldSecretUntil > now && "two secrets", allowInner && "inner allowed"].filter(Boolean);
  return [state, ...parts].join(", ");
}

function addTest(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("test <id>")
    .description("send one test message from this host")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The exit code is 1 if the receiver does not accept the message. The command sends it only once, and
\`webhooks deliveries\` lists it.

Examples:
  inkling webhooks test whk_3fK9mB2xQ7vR1tYz`,
    );
  addAction(command, context, SETTINGS, async ({ settings }, id: string) => {
    const options = { version: context.version, now: Date.now };
    const attempt = existing(id, await withExistingStore(settings, (store) => sendTest(store, id, options)));
    const isDelivered = attempt.outcome === "delivered";
    return {
      json: { delivery: attempt.delivery, ...attemptJson(attempt) },
      text: isDelivered ? `Delivered ${attempt.delivery}.` : `Not delivered: ${attempt.reason}.`,
      exitCode: isDelivered ? EXIT.ok : EXIT.error,
    };
  });
}

function addRotate(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("rotate <id>")
    .description("give a webhook a new secret; the old secret also signs messages for a while")
    .option("--overlap <duration>", "how long the old secret also signs: 0s, 30m, 24h, 30d", "24h")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling webhooks rotate whk_3fK9mB2xQ7vR1tYz --overlap 7d");
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    const overlap = overlapOf(flags);
    const until = Date.now() + overlap;
    const issued = existing(
      id,
      await withExistingStore(settings, (store) => store.webhooks.rotate(id, until, cliActor())),
    );
    const end = overlap === 0 ? "now" : `at ${new Date(until).toISOString()}`;
    return issuedResult(
      context,
      flags,
      issued,
      `New secret for ${id}. ${SHOWN_ONCE} The old secret stops signing ${end}.`,
    );
  });
}

function addEnable(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("enable <id>")
    .description("enable a webhook that was disabled because its receiver returned 410")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Failed deliveries are not sent again. To check whether the receiver accepts messages, run \`webhooks test\`.

Examples:
  inkling webhooks enable whk_3fK9mB2xQ7vR1tYz`,
    );
  addAction(command, context, SETTINGS, async ({ settings }, id: string) => {
    const enabled = existing(
      id,
      await withExistingStore(settings, (store) => store.webhooks.enable(id, cliActor())),
    );
    return { json: webhookJson(enabled), text: `${id} is enabled.` };
  });
}

function addRemove(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("remove <id>")
    .description("remove a webhook, its secrets and its deliveries")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling webhooks remove whk_3fK9mB2xQ7vR1tYz");
  addAction(command, context, SETTINGS, async ({ settings }, id: string) => {
    const removed = existing(
      id,
      await withExistingStore(settings, (store) => store.webhooks.remove(id, cliActor())),
    );
    return {
      json: webhookJson(removed),
      text: `Removed ${id}: Inkling sends nothing more to ${printable(removed.url)}.`,
    };
  });
}

function addDeliveries(webhooks: Command, context: Context): void {
  const command = webhooks
    .command("deliveries <id>")
    .description("list deliveries of the last 7 days, newest first, with the results of recent attempts")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling webhooks deliveries whk_3fK9mB2xQ7vR1tYz");
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    const { items } = await withExistingStore(settings, async (store) => {
      existing(id, await store.webhooks.find(id));
      return store.deliveries.list(id, { limit: MAX_PAGE });
    });
    if (items.length === 0 && !flags.json) {
      return context.terminal.err("Nothing was sent in the last 7 days.\n");
    }
    return { json: items.map(deliveryJson), text: () => deliveriesText(items, Date.now()) };
  });
}

function deliveriesText(items: readonly Delivery[], now: number): string {
  const rows = items.map(({ id, event, state, createdAt, attempts, dueAt, last }) => [
    id,
    formatAgo(now - createdAt),
    event,
    state,
    String(attempts),
    last === undefined ? "" : outcomeText(last),
    state === "waiting" ? new Date(dueAt).toISOString() : "",
  ]);
  const head = ["ID", "QUEUED", "EVENT", "STATE", "ATTEMPTS", "LAST ATTEMPT", "NEXT ATTEMPT"];
  return printable(table([head, ...rows], [head.indexOf("ATTEMPTS")]));
}

const outcomeText = ({ status, reason }: Attempt) => reason ?? `returned ${status}`;

/** @throws CliError if the webhook does not exist */
function existing<T>(id: string, found: T | undefined): T {
  if (found !== undefined) return found;
  throw new CliError(
    `there is no webhook ${JSON.stringify(id.slice(0, 40))}`,
    "`inkling webhooks list` shows all webhook ids",
  );
}
