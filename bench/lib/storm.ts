// storm.ts: starts the load of storm-client.ts and follows it, second by second.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { linesOf } from "./asked.ts";
import { ROOT } from "./data.ts";
import { CLIENT_CORE, pinned } from "./proc.ts";
import { temporaryFolder } from "./server.ts";
import type { StormOrder, StormSecond } from "./storm-client.ts";

/** @param each told of every second while it goes on. @returns all of them */
export async function storm(order: StormOrder, each: (second: StormSecond) => void): Promise<StormSecond[]> {
  const file = join(temporaryFolder(), "order.json");
  writeFileSync(file, JSON.stringify(order));
  const command = [process.execPath, join(ROOT, "bench/lib/storm-client.ts"), file];
  const client = Bun.spawn(pinned(CLIENT_CORE, command), { stdout: "pipe", stderr: "inherit" });
  const seconds: StormSecond[] = [];
  for await (const line of linesOf(client.stdout)) {
    const second: StormSecond = JSON.parse(line);
    seconds.push(second);
    each(second);
  }
  if ((await client.exited) !== 0)
    throw new Error(`the client ended with ${client.exitCode ?? client.signalCode}`);
  return seconds;
}

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
