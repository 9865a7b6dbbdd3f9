// store-process.ts: a process that uses keys and usage as a server does, for tests with several processes.
//
// end  SIGTERM: the last flush, then exit code 0

import { UsageRecorder } from "../../../packages/server/src/limits/usage-recorder.ts";
import { Keyring } from "../../../packages/store/src/keys/keyring.ts";
import { liveKeys } from "../../../packages/store/src/live-keys.ts";
import { openStore } from "../../../packages/store/src/store.ts";

/** A line of output. */
export interface Report {
  readonly answer: string;
  readonly keyId: string | undefined;
  readonly recorded: number;
  readonly confirmed: number;
}

if (import.meta.main) {
  const [address = "", token = "", intervalMs = "1000"] = process.argv.slice(2);
  const store = await openStore(address, { mayBeUnreachable: true });
  const keyring = new Keyring();
  const loader = liveKeys({ store, keyring, refreshMs: Number(intervalMs) });
  const recorder = new UsageRecorder({ store: store.usage, flushMs: Number(intervalMs) });
  await Promise.all([loader.start(), recorder.start()]);

  let recorded = 0;
  let last = "";
  const report = () => {
    const result = keyring.authenticate(`Bearer ${token}`, Date.now());
    if (result.ok) recorder.record(result.key.id, "email", Date.now());
    if (result.ok) recorded++;
    const line: Report = {
      answer: result.ok ? "OK" : result.code,
      keyId: result.ok ? result.key.id : undefined,
      recorded,
      confirmed: recorded - recorder.state.pending,
    };
    const text = JSON.stringify(line);
    if (text !== last) process.stdout.write(`${text}\n`);
    last = text;
  };
  const timer = setInterval(report, 1);

  process.on("SIGTERM", async () => {
    clearInterval(timer);
    await Promise.all([recorder.stop(), loader.stop()]);
    await store.close();
    process.exit(0);
  });
}
