import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/data";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "./feed.ts";
import { choose, type FeedChoice, isChosen, readFeedChoice, writeFeedChoice } from "./feed-choice.ts";

const temp = temporaryFolder();

const usual = { id: "usual" } as Feed;
const optional = { id: "optional", optIn: { why: "key", terms: "none" } } as Feed;
const TABLE = [usual, optional];
const NONE = { enabled: [], disabled: [] };
const chosen = (choice: FeedChoice) => TABLE.filter((feed) => isChosen(feed, choice)).map(({ id }) => id);

describe("which feeds are on", () => {
  test.each([
    ["without a choice: those of the default", NONE, ["usual"]],
    ["one more", { enabled: ["optional"], disabled: [] }, ["usual", "optional"]],
    ["one less", { enabled: [], disabled: ["usual"] }, []],
    ["in both lists: off", { enabled: ["optional"], disabled: ["optional"] }, ["usual"]],
    ["an id of another version changes nothing", { enabled: ["later"], disabled: ["earlier"] }, ["usual"]],
  ])("%s", (_name, choice, want) => expect(chosen(choice)).toEqual(want));
});

test("turning a feed on and off restores the choice", () => {
  for (const feed of TABLE) {
    const on = choose(NONE, feed, true);
    expect(chosen(on)).toContain(feed.id);
    const off = choose(on, feed, false);
    expect(chosen(off)).not.toContain(feed.id);
    expect(chosen(choose(off, feed, true))).toEqual(chosen(on));
  }
  expect(choose(choose(NONE, usual, false), usual, true)).toEqual(NONE);
  expect(choose(choose(NONE, optional, true), optional, false)).toEqual(NONE);
});

test("a written choice reads back, each id once", () => {
  expect(readFeedChoice(temp)).toEqual(NONE);
  writeFeedChoice(temp, { enabled: ["b", "a", "b"], disabled: ["c"] });
  expect(readFeedChoice(temp)).toEqual({ enabled: ["a", "b"], disabled: ["c"] });
  expect(readdirSync(temp)).toEqual([DATA_FOLDER.feedChoice]);
  expect(readFileSync(join(temp, DATA_FOLDER.feedChoice), "utf8")).toEndWith("}\n");
});

test("an added feed of an earlier version, which had `form`, is read", () => {
  const feed = { id: "office", claims: "vpn", file: "/vpn.txt" };
  writeFileSync(
    join(temp, DATA_FOLDER.feedChoice),
    JSON.stringify({ added: [{ ...feed, form: "networks" }] }),
  );
  expect(readFeedChoice(temp)).toMatchObject({ added: [{ ...feed, format: "networks" }] });
});

describe("an unusable choice is an error, not the default", () => {
  test.each([
    ["not JSON", "{", /feeds\.json is not JSON$/],
    ["of another shape", '{"enabled":"x"}', /cannot be used: enabled/],
    ["with a field too many", '{"enabled":[],"enable":[]}', /cannot be used: .*"enable"/],
    [
      "with an added feed that lacks a field",
      '{"added":[{"id":"x","format":"networks","claims":"vpn"}]}',
      /cannot be used: feed "x": file or url is required$/,
    ],
    ["with a path for an id", '{"disabled":["../x"]}', /cannot be used: disabled 0 is not a feed id$/],
  ])("%s", (_name, text, problem) => {
    writeFileSync(join(temp, DATA_FOLDER.feedChoice), text);
    expect(() => readFeedChoice(temp)).toThrow(problem);
  });
  test("a folder in its place", () => {
    expect(() => readFeedChoice(join(temp, DATA_FOLDER.feedChoice))).toThrow("cannot be read");
  });
});
