// publishing-process.ts: a publisher in a separate process, which renews a channel again and again after random delays.

import { appendFileSync, readFileSync } from "node:fs";
import { openStore, Publisher, readPrivateKey, type Statement } from "@inkling/data/channel";

const [base = "", keyFile = "", log = "", rounds, delayMs] = process.argv.slice(2);
const pause = () => Bun.sleep(Math.random() * Number(delayMs));
const store = openStore(base, process.env)!;
const replace = store.replace.bind(store);
store.replace = async (...args) => {
  await pause();
  return replace(...args);
};
let before: Statement | undefined;
const publisher = new Publisher({
  store,
  channel: "stable",
  privateKey: readPrivateKey(readFileSync(keyFile, "utf8")),
  now: Date.now,
  signal: new AbortController().signal,
  audited: async (found, _, change) => {
    before = found;
    await change();
  },
});
for (let round = 0; round < Number(rounds); round++) {
  try {
    const { version } = await publisher.renew();
    appendFileSync(log, `${before?.version} ${version}\n`);
  } catch (error) {
    if ((error as { fault?: string }).fault !== "busy") throw error;
  }
  await pause();
}
