// Fuzzes a channel's signed statement. The text that comes out was signed: no damage changes it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { currentName } from "@inkling/data";
import { makeKeyPair, openStore, Publisher, readPrivateKey } from "@inkling/data/channel";
import { seal, unseal } from "../../../packages/data/src/channel/envelope.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import type { Target } from "../target.ts";

export default async function channels(): Promise<Target> {
  const { privatePem, publicKey } = makeKeyPair();
  const privateKey = readPrivateKey(privatePem);
  const folder = temporaryFolder();
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const publisher = new Publisher({
    store: openStore(folder, {})!,
    channel: "stable",
    privateKey,
    now: () => 0,
    signal: new AbortController().signal,
  });
  await publisher.publish(dataDir, currentName(dataDir)!);
  const published = readFileSync(join(folder, "channels/stable.json"), "utf8");
  const other = seal('{"version":9}', readPrivateKey(makeKeyPair().privatePem));
  const signed = new Set([unseal(published, [publicKey]), '{"version":1}', ""]);
  const texts = [published, seal('{"version":1}', privateKey), seal("", privateKey), other];
  return {
    corpus: texts.map((text) => Buffer.from(text)),
    tokens: [
      '"payload": "',
      '"signatures": [',
      '"sig": "',
      '"keyid": "',
      '"payloadType": "',
      "AAAA",
      "==",
      "[]",
    ],
    check: (input) => {
      let text: string;
      try {
        text = unseal(Buffer.from(input).toString("utf8"), [publicKey]);
      } catch (error) {
        const { name, fault } = error as { name: string; fault?: string };
        if (name !== "ChannelError") throw error;
        return String(fault);
      }
      if (!signed.has(text)) throw new Error(`never signed: ${text.slice(0, 200)}`);
      return "signed";
    },
  };
}
