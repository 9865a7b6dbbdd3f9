// publishing-process.ts: a publisher in a separate process, with random delays and perhaps a wrong clock.
//
// in   the channel's folder, the private key's file, a log file, the number of rounds, the maximum delay in
//      ms, the clock's offset in ms, the database or ""
// out  a line in the log for each round that published: the version on which it was based; it runs further
//      rounds until there are three lines

import { appendFileSync, readFileSync } from "node:fs";
import { Publisher, publicKeyOf, readChannel, readPrivateKey } from "@inkling/release-store/channel";
import { FolderObjects } from "../../../packages/release-store/src/channel/folder-objects.ts";
import { openStore } from "../../../packages/store/src/store.ts";

const [folder = "", keyFile = "", log = "", rounds, delayMs, offsetMs, databaseUrl = ""] =
  process.argv.slice(2);
const { signal } = new AbortController();
const privateKey = readPrivateKey(readFileSync(keyFile, "utf8"));
const MIN_LINES = 3;
let before: number | undefined;

/** Makes writes slow, as on a busy machine or network. */
class SlowFolder extends FolderObjects {
  /** Long enough that rounds overlap. Some writes take even longer. */
  override readonly settleMs = 100;

  override async write(...args: Parameters<FolderObjects["write"]>): Promise<void> {
    // The publisher has just read the version on which it bases its change.
    if (args[0].startsWith("channels/")) {
      before = (await readChannel(new FolderObjects(folder), "stable", [publicKeyOf(privateKey)], signal))
        ?.version;
    }
    if (Math.random() < 0.5) await Bun.sleep(Math.random() * Number(delayMs));
    return super.write(...args);
  }
}

const database = databaseUrl === "" ? undefined : await openStore(databaseUrl);
const publisher = new Publisher({
  store: new SlowFolder(folder),
  channel: "stable",
  privateKey,
  now: () => Date.now() + Number(offsetMs),
  signal,
  ...(database && { exclusively: (work) => database.asPublisher(work) }),
});
/**
 * Does the log, to which all processes write, have fewer than three lines? On a slow disk, most rounds may be refused
 * for a long time.
 */
const isTooFew = () => readFileSync(log, "utf8").split("\n").length <= MIN_LINES;
for (let round = 0; round < Number(rounds) || isTooFew(); round++) {
  try {
    await publisher.promote(100);
    appendFileSync(log, `${before}\n`);
  } catch (error) {
    const { fault, message } = error as { fault?: string; message: string };
    if (fault !== "busy" && !message.includes(" ms to write ")) throw error;
  }
  await Bun.sleep(Math.random() * 100);
}
await database?.close();
