import { describe, expect, test } from "bun:test";
import type { Answer, FeedReport } from "@inkling/engine";

import { sourcesLine, whyRefused } from "./data.ts";

const feed = (source: FeedReport["source"], state: FeedReport["state"] = "loaded"): FeedReport => ({
  id: "x",
  sets: "is_proxy",
  source,
  state,
  entries: 0,
  licence: "MIT",
});

describe("a release", () => {
  test.each<[string, FeedReport[], Answer[], string]>([
    ["a mirror", [feed("mirror"), feed("seed")], [], "feeds: 1 from a mirror, 1 from npm packages (seeds)"],
    ["lists of its own", [feed("own"), feed("own")], [], "feeds: 2 Inkling's own"],
    ["missing feeds", [feed("seed"), feed("none", "missing")], [], "feeds: 1 from npm packages (seeds)"],
    ["last good copies", [feed("fetched"), feed("last-good")], [], "feeds: 2 fetched"],
    [
      "missing answers",
      [feed("seed")],
      ["is_abuser", "is_proxy"],
      "feeds: 1 from npm packages (seeds); no data for is_abuser and is_proxy",
    ],
  ])("with %s has a line about the sources of its data", (_, feeds, missing, want) =>
    expect(sourcesLine({ feeds, missing })).toBe(want),
  );
  test.each<["geo" | "reputation" | "email", Answer[], string | undefined]>([
    ["geo", [], undefined],
    ["geo", ["is_abuser"], undefined],
    ["reputation", ["is_abuser"], "no data for is_abuser"],
    ["email", ["disposable"], "no data for disposable"],
  ])("%s without %p", (kind, missing, want) => expect(whyRefused({ missing, partial: [] }, kind)).toBe(want));
});
