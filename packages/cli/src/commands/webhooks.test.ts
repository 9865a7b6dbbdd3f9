// Tests `inkling webhooks`: standard output contains only the secret, invalid command lines are refused, and `test`
// prints the result of a test message.

import { expect, test } from "bun:test";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { startReceiver, verified } from "../../../../test/harness/webhook-receiver.ts";
import { runHere } from "../program.testing.ts";

const inFolder = (cwd = temporaryFolder()) => {
  const env = { INKLING_DATA_DIR: cwd };
  return (...args: string[]) => runHere(["webhooks", ...args], { env, cwd });
};

test("add, list, test, rotate, deliveries, remove", async () => {
  const inkling = inFolder();
  const receiver = startReceiver((n) => new Response(null, { status: n === 1 ? 500 : 204 }));
  try {
    const added = await inkling("add", receiver.url, "--events", "all", "--allow-private", "--author", "ada");
    const secret = added.out.trim();
    expect([added.code, /^whsec_[\w+/]{43}=$/.test(secret)]).toEqual([0, true]);
    const id = /Added (whk_\w{16})\. The secret is shown only once\./.exec(added.err)![1]!;
    expect((await inkling("list")).out).toMatch(
      new RegExp(`${id} +active, private allowed +${receiver.url} .*key\\.quota_reached +ada `),
    );
    const tested = await inkling("test", id);
    expect(tested).toMatchObject({ code: 0, out: expect.stringMatching(/^Delivered msg_\w{16}\.\n$/) });
    expect(await inkling("test", id)).toMatchObject({
      code: 1,
      out: "Not delivered: the receiver returned 500.\n",
    });
    const rotated = (await inkling("rotate", id, "--overlap", "1h")).out.trim();
    expect((await inkling("list")).out).toContain("two secrets");
    await inkling("test", id);
    for (const each of [secret, rotated]) verified(each, receiver.received[2]!);
    const { out } = await inkling("deliveries", id);
    expect(out).toContain("the receiver returned 500");
    expect(out.match(/returned 204/g)).toHaveLength(2);
    const listed = (await inkling("list", "--json")).out + (await inkling("deliveries", id, "--json")).out;
    expect(listed).not.toContain("whsec_");
    expect(await inkling("remove", id)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Removed whk_/),
    });
    expect((await inkling("list")).err).toMatch(/^There are no webhooks yet/);
  } finally {
    receiver.stop();
  }
});

const HTTPS = "https://example.com/";
test.each([
  [["add", HTTPS], 2, /required option '--events <list>'/],
  [["add", HTTPS, "--events", "rumour"], 2, /--events "rumour": must be some of decision\.changed, /],
  [
    ["add", "http://example.com/", "--events", "all"],
    2,
    /url "http:\/\/example\.com\/": must begin with https:\/\/\nhint: .*`--allow-private`/,
  ],
  [
    ["add", "https://10.0.0.1/", "--events", "all"],
    2,
    /url "https:\/\/10\.0\.0\.1\/": its address is private and not public/,
  ],
  [["rotate", "whk_0123456789abcdef", "--overlap", "31d"], 2, /--overlap "31d": must be at most 30 days/],
] as const)("%j ends with %d", async (args, code, message) => {
  expect(await inFolder()(...args)).toMatchObject({ code, out: "", err: expect.stringMatching(message) });
});

test("an unknown id is reported, with the command that lists all", async () => {
  const inkling = inFolder();
  await inkling("add", HTTPS, "--events", "all");
  for (const name of ["test", "rotate", "enable", "remove", "deliveries"]) {
    const { code, err } = await inkling(name, "whk_0123456789abcdef");
    expect([name, code]).toEqual([name, 1]);
    expect(err).toMatch(/there is no webhook "whk_0123456789abcdef"\nhint: run `inkling webhooks list`/);
  }
});
