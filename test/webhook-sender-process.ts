// webhook-sender-process.ts: a process that sends webhooks as a server does, for tests that kill it.

import { WebhookSender } from "../packages/server/src/webhooks/sender.ts";
import { openStore } from "../packages/store/src/store.ts";

const store = await openStore(process.argv[2]!);
const log = { info: () => {}, error: (event: string) => process.stderr.write(`${event}\n`) };
new WebhookSender({ store, log, version: "1.2.3", now: Date.now, pollMs: 5 }).start();
setInterval(() => {}, 1_000); // keeps the process alive, because the sender does not
