// Tests copies of the operator's own feeds that cannot be used. They are held by name, and the last good copy still
// answers.

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OwnFeed } from "@inkling/contract";
import { pin, unpin, verifyRelease } from "@inkling/data";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { lookUp, OwnFeedHost, SECRET } from "../../harness/own-feed-host.ts";

const host = new OwnFeedHost();
afterAll(() => host.stop());

describe("bad copies", () => {
  const LIST = Array.from({ length: 300 }, (_, i) => `91.3.${i >> 8}.${i & 255}\n`).join("");
  const rows: readonly (readonly [name: string, body: string, problem: RegExp, more?: Partial<OwnFeed>])[] = [
    [
      "an error page",
      "not found\nplease log in\n",
      /publisher: has unusable entries, 2 of 2; the first is line 1: is not an address or a network/,
    ],
    ["empty", "", /publisher: is empty/],
    ["too wide for its flag", "91.0.0.0/8\n", /has a network of \/8 \(IPv4\): \/11 is the widest allowed/],
    [
      "a third of it",
      LIST.slice(0, LIST.length / 3),
      /differs too much from the last good copy|is truncated/,
    ],
  ];
  test.each(rows)("%s: held by name, and the last good copy answers", async (_name, body, problem) => {
    const dataDir = host.folder();
    const own: OwnFeed = { id: "bad", format: "networks", claims: "attacker", url: host.url("bad") };
    host.files.set("bad", LIST);
    await host.build(dataDir, [own]);
    host.files.set("bad", body);
    const made = await host.build(dataDir, [own], 1);
    expect(made.held).toEqual(["bad"]);
    expect(made.reportOf("bad")).toMatchObject({
      state: "loaded",
      source: "last-good",
      entries: 300,
      error: expect.stringMatching(problem),
    });
    expect(lookUp(dataDir, "reputation", "91.3.0.9").is_abuser).toBe(true);
  });

  test("a wrong copy that was accepted: disabling the feed or accepting the right copy undoes it", async () => {
    const dataDir = host.folder();
    const own: OwnFeed = { id: "wrong", format: "networks", claims: "attacker", url: host.url("wrong") };
    const accept = { accept: ["wrong"] };
    const isAbuser = () => lookUp(dataDir, "reputation", "91.3.0.9").is_abuser;
    host.files.set("wrong", LIST);
    const { name } = await host.build(dataDir, [own]);
    host.files.set("wrong", LIST.replaceAll("91.3.", "91.4.").slice(0, LIST.length / 3));
    expect((await host.build(dataDir, [own], 1)).held).toEqual(["wrong"]);
    expect((await host.build(dataDir, [own], 2, accept)).held).toEqual([]);
    expect(isAbuser()).toBe(false);
    pin(dataDir, name);
    expect(isAbuser()).toBe(true);
    // The publisher's right copy again differs too much from the last good copy, which is now the wrong one.
    host.files.set("wrong", LIST);
    expect((await host.build(dataDir, [own], 3)).reportOf("wrong")!.held).toBeDefined();
    expect((await host.build(dataDir, [own], 4, accept)).held).toEqual([]);
    await unpin(dataDir, verifyRelease);
    expect(isAbuser()).toBe(true);
    writeFeedChoice(dataDir, { enabled: [], disabled: ["wrong"] });
    await host.build(dataDir, [own], 5);
    expect(isAbuser()).toBe(false);
    writeFeedChoice(dataDir, { enabled: [], disabled: [] });
    expect((await host.build(dataDir, [own], 6)).reportOf("wrong")!.held).toBeUndefined();
    expect(isAbuser()).toBe(true);
  });

  test("a short list may change altogether", async () => {
    const dataDir = host.folder();
    const own: OwnFeed = { id: "short", format: "networks", claims: "attacker", url: host.url("short") };
    for (const [day, ip] of ["91.3.7.1", "91.3.7.2"].entries()) {
      host.files.set("short", `${ip}\n`);
      expect((await host.build(dataDir, [own], day)).held).toEqual([]);
      expect(lookUp(dataDir, "reputation", ip).is_abuser).toBe(true);
    }
  });

  test("a few wrong lines are left out, and the first is named", async () => {
    host.files.set("odd", `${LIST}91.3.9.1-91.3.8.1\n`);
    const made = await host.build(host.folder(), [
      { id: "odd", format: "networks", claims: "attacker", url: host.url("odd") },
    ]);
    expect(made.reportOf("odd")!.skipped).toEqual({
      entries: 1,
      first: "line 301: is not an address range, which goes from a lower to a higher address of one family",
    });
  });

  test("a path that leads to nothing, and a definition that does not fit the kept copy", async () => {
    const dataDir = host.folder();
    const own: OwnFeed = { id: "doc", format: "json", claims: "vpn", path: "$.a[*]", url: host.url("doc") };
    host.files.set("doc", '{"a":["91.3.0.1"]}');
    await host.build(dataDir, [own]);
    host.files.set("doc", '{"b":["91.3.0.1"]}');
    const nothing = await host.build(dataDir, [own], 1);
    expect(nothing.reportOf("doc")!.error).toContain("publisher: has nothing at $.a[*]");
    const { path: _, ...rest } = own;
    const other = await host.build(dataDir, [{ ...rest, format: "networks" }], 2);
    expect(other.reportOf("doc")).toMatchObject({
      state: "missing",
      error: expect.stringContaining("the kept copy has the format json-networks"),
    });
  });

  test("an age limit: what the publisher does not renew is dropped", async () => {
    const dataDir = host.folder();
    host.files.set("old", "91.3.0.1\n");
    const own: OwnFeed = {
      id: "old",
      format: "networks",
      claims: "vpn",
      max_age_days: 3,
      url: host.url("old"),
    };
    await host.build(dataDir, [own]);
    host.isUnreachable = true;
    try {
      expect((await host.build(dataDir, [own], 2)).reportOf("old")).toMatchObject({
        state: "loaded",
        stale: true,
      });
      expect((await host.build(dataDir, [own], 4)).reportOf("old")!.state).toBe("expired");
    } finally {
      host.isUnreachable = false;
    }
  });
});

describe("a header with a secret", () => {
  const own = (): OwnFeed => ({
    id: "locked",
    format: "networks",
    claims: "attacker",
    url: host.url("locked?token=in-the-query"),
    header: "X-Key",
    secret: "acme",
  });
  const rows = [
    ["set", { feed_secret_acme: SECRET }, "loaded", 1, undefined],
    [
      "wrong",
      { feed_secret_acme: "Bearer wrong-key" },
      "missing",
      1,
      /\/locked answered 401 Unauthorized: check INKLING_FEED_SECRET_ACME$/,
    ],
    ["not set", {}, "missing", 0, /needs INKLING_FEED_SECRET_ACME/],
  ] as const;
  test.each(rows)("%s", async (_name, credentials, state, requests, error) => {
    host.files.set("locked", "91.4.0.1\n");
    host.requests.length = 0;
    const made = await host.build(host.folder(), [own()], 0, { credentials });
    expect(made.reportOf("locked")!.state).toBe(state);
    if (error) expect(made.reportOf("locked")!.error).toMatch(error);
    const sent = host.requests.filter(({ header }) => header !== null).map(({ path }) => path);
    expect(sent).toEqual(["locked"].slice(0, requests)); // and to no other publisher
    expect(JSON.stringify(made)).not.toMatch(/hush|wrong-key|in-the-query/);
  });
});

test("an unreachable publisher, and a file that is gone, leave the last good copy", async () => {
  const dataDir = host.folder();
  const file = join(host.temp, "office.txt");
  writeFileSync(file, "91.5.0.1\n");
  host.files.set("away", "91.5.0.2\n");
  const own: OwnFeed[] = [
    { id: "office", format: "networks", claims: "vpn", file },
    { id: "away", format: "networks", claims: "vpn", url: host.url("away") },
  ];
  expect((await host.build(dataDir, own)).reportOf("office")).toMatchObject({
    source: "mirror",
    state: "loaded",
  });
  writeFileSync(file, "");
  const moved = { ...own[0]!, file: join(host.temp, "elsewhere.txt") };
  const dead: OwnFeed = { ...own[1]!, url: "http://127.0.0.1:1/away" };
  const made = await host.build(dataDir, [moved, dead], 1);
  expect([made.failed, made.unreached]).toEqual([["office"], ["away"]]);
  expect(made.reportOf("office")!.error).toBe("file: elsewhere.txt does not exist");
  expect(made.reportOf("away")!.error).toContain("could not be reached: connection refused");
  for (const ip of ["91.5.0.1", "91.5.0.2"]) expect(lookUp(dataDir, "reputation", ip).is_proxy).toBe(true);
});
