// Tests what every live value promises in case of an outage, a clock jump, a damaged snapshot, a slow source, or a
// change during a load.

import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { Live, type LiveOptions, type LiveState } from "./live.ts";
import { SnapshotFile } from "./snapshot-file.ts";
import { EmptyDatabaseError, storeSource } from "./store-source.ts";

/** A source whose version counts its changes. */
class Source {
  value = "a";
  count = 1;
  loads = 0;
  isUnreachable = false;
  gate: Promise<void> = Promise.resolve();

  change(value: string): void {
    this.value = value;
    this.count++;
  }
  async version(): Promise<string> {
    await this.gate;
    if (this.isUnreachable) throw new Error("unreachable");
    return String(this.count);
  }
  async load() {
    this.loads++;
    const { value, count } = this; // a change during the load belongs to the next version
    await this.gate;
    if (this.isUnreachable) throw new Error("unreachable");
    return { version: String(count), value };
  }
}

function setUp(options: Partial<LiveOptions<string>> & { path?: string } = {}) {
  const { path = join(temporaryFolder(), "value.json"), ...rest } = options;
  const source = new Source();
  const clock = { now: 1_000_000 };
  const failures: string[] = [];
  const snapshot = new SnapshotFile<string>({
    path,
    now: Date.now,
    onFailure: (reason) => failures.push(reason),
    parse: (text) => JSON.parse(text),
    print: (loaded) => JSON.stringify(loaded),
  });
  const now = () => clock.now;
  const live = new Live<string>({ initial: "", source, pollMs: 1_000_000, snapshot, now, ...rest });
  return { source, clock, failures, live, path };
}

test("takes a change with the next check, and loads nothing where the version is the same", async () => {
  const { source, live } = setUp();
  await live.start();
  for (let i = 0; i < 3; i++) await live.refresh();
  expect([live.current, source.loads]).toEqual(["a", 1]);
  source.change("b");
  await live.refresh();
  expect([live.current, live.state.version, source.loads]).toEqual(["b", "2", 2]);
  await live.stop();
});

test("an outage leaves the value in force; state and callback say why, and that it is over", async () => {
  const checks: [string | undefined, string | undefined][] = [];
  const onChecked = (...errors: [Error | undefined, Error | undefined]) =>
    void checks.push([errors[0]?.message, errors[1]?.message]);
  const { source, live, clock } = setUp({ onChecked });
  await live.start();
  source.isUnreachable = true;
  clock.now += 500;
  await live.refresh();
  await live.refresh();
  const during: LiveState = live.state;
  expect([live.current, during.failures, during.error?.message, during.checkedAt]).toEqual([
    "a",
    2,
    "unreachable",
    1_000_000,
  ]);
  source.isUnreachable = false;
  await live.refresh();
  expect(live.state).toMatchObject({ failures: 0, error: undefined, checkedAt: 1_000_500 });
  expect(checks).toEqual([
    [undefined, undefined],
    ["unreachable", undefined],
    ["unreachable", "unreachable"],
    [undefined, "unreachable"],
  ]);
  await live.stop();
});

test("a start while the source is unreachable goes on from the snapshot, which the source's value replaces", async () => {
  const first = setUp();
  await first.live.start();
  await first.live.stop();
  const { source, live } = setUp({ path: first.path });
  source.isUnreachable = true;
  await live.start();
  expect([live.current, live.state.from, live.state.failures]).toEqual(["a", "snapshot", 1]);
  source.isUnreachable = false;
  source.value = "c"; // the version is the same, but the snapshot's version is not trusted
  await live.refresh();
  expect([live.current, live.state.from]).toEqual(["c", "source"]);
  await live.stop();
});

test("a damaged snapshot is reported and passed over; the next good value is written in its place", async () => {
  const { source, live, failures, path } = setUp();
  writeFileSync(path, "{");
  source.isUnreachable = true;
  await live.start();
  expect([live.current, live.state.from, failures.length]).toEqual(["", undefined, 1]);
  source.isUnreachable = false;
  await live.refresh();
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ version: "1", value: "a" });
  await live.stop();
});

test("a clock that jumps does not keep the value from being loaded again", async () => {
  const { source, live, clock } = setUp();
  await live.start();
  source.value = "by hand";
  clock.now -= 3_600_000;
  await live.refresh();
  expect(live.current).toBe("by hand");
  source.value = "by hand again";
  clock.now += 59_999;
  await live.refresh();
  expect(live.current).toBe("by hand");
  clock.now += 1;
  await live.refresh();
  expect(live.current).toBe("by hand again");
  await live.stop();
});

test("a slow source delays nobody who reads, and a change during its load is found by the next check", async () => {
  const { source, live } = setUp();
  await live.start();
  const gate = Promise.withResolvers<void>();
  source.change("b");
  source.gate = gate.promise;
  const check = live.refresh();
  expect(live.current).toBe("a");
  gate.resolve();
  await Bun.sleep(0);
  source.change("c");
  await check;
  await live.refresh();
  expect([live.current, live.state.version]).toEqual(["c", "3"]);
  await live.stop();
});

test("who is told of a value sees the state that it brought", async () => {
  const seen: (string | undefined)[] = [];
  const onApplied = () => void seen.push(live.state.error?.message);
  const { source, live } = setUp({ onApplied });
  source.isUnreachable = true;
  await live.start();
  source.isUnreachable = false;
  await live.refresh();
  expect(seen).toEqual([undefined]);
  await live.stop();
});

test("a value that is refused is not in force, and is tried again", async () => {
  let refusals = 0;
  const apply = (value: string) => {
    if (value === "b" && refusals++ < 2) throw new Error("no memory");
  };
  const { source, live } = setUp({ apply });
  await live.start();
  source.change("b");
  await live.refresh();
  await live.refresh();
  expect([live.current, live.state.failures]).toEqual(["a", 2]);
  await live.refresh();
  expect([live.current, live.state.failures]).toEqual(["b", 0]);
  await live.stop();
});

test("is stale once the source was unreachable for so long, from the snapshot's age on", async () => {
  const first = setUp();
  await first.live.start();
  await first.live.stop();
  const changes: boolean[] = [];
  const onStale = (isStale: boolean) => void changes.push(isStale);
  const { source, live } = setUp({ path: first.path, maxStaleMs: 0, onStale });
  source.isUnreachable = true;
  await live.start();
  expect(changes).toEqual([true]);
  await live.stop();
});

test("a table that never had anything, in the place of one that had, is an error, and keeps the snapshot", async () => {
  const { source, path } = setUp();
  let stamp = "1";
  const snapshot = new SnapshotFile<string>({
    path,
    now: Date.now,
    onFailure: (reason) => expect(reason).toBeUndefined(),
    parse: (text) => JSON.parse(text),
    print: (loaded) => JSON.stringify(loaded),
  });
  const live = new Live<string>({
    initial: "",
    source: storeSource({
      readStamp: async () => stamp,
      load: async () => ({ version: stamp, value: source.value }),
      countLost: (value) => value.length,
      what: "a letter",
    }),
    snapshot,
    pollMs: 1_000_000,
  });
  await live.start();
  stamp = "new";
  source.value = "";
  await live.refresh();
  expect([live.current, live.state.error]).toEqual(["a", new EmptyDatabaseError(1, "a letter")]);
  await live.stop();
  expect(existsSync(path)).toBe(true);
});

test("a change is appended to the file that this process wrote, and to no other", () => {
  const path = join(temporaryFolder(), "copy.json");
  let time = Date.now();
  const open = () =>
    new SnapshotFile<string>({
      path,
      now: () => time++,
      onFailure: (reason) => expect(reason).toBeUndefined(),
      parse: (text) => JSON.parse(text.split("\n")[0]!),
      print: (loaded) => `${JSON.stringify(loaded)}\n`,
      changeOf: ({ version }) => ({ from: String(Number(version) - 1), text: `${version}\n` }),
    });
  const text = () => readFileSync(path, "utf8");
  const snapshot = open();
  snapshot.save({ version: "1", value: "abc" });
  snapshot.save({ version: "2", value: "ab" });
  expect(text()).toBe('{"version":"1","value":"abc"}\n2\n');
  snapshot.save({ version: "4", value: "a" });
  expect(text()).toBe('{"version":"4","value":"a"}\n');
  open().save({ version: "5", value: "b" });
  expect(text()).toBe('{"version":"5","value":"b"}\n');
});
