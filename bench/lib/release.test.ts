import { describe, expect, test } from "bun:test";
import type { Answer, FeedReport } from "@inkling/engine";

import { sourcesLine, whyRefused } from "./release.ts";

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
      "feeds: 1 from npm packages (seeds); none says anything of is_abuser and is_proxy",
    ],
  ])("with %s says where its data came from", (_, feeds, missing, want) =>
    expect(sourcesLine({ feeds, missing })).toBe(want),
  );
  test.each<["geolocate" | "reputation" | "email", Answer[], string | undefined]>([
    ["geolocate", [], undefined],
    ["geolocate", ["is_abuser"], undefined],
    ["reputation", ["is_abuser"], "the data says nothing of is_abuser"],
    ["email", ["disposable"], "the data says nothing of disposable"],
  ])("%s without %p", (scope, missing, want) =>
    expect(whyRefused({ missing, partial: [] }, scope)).toBe(want),
  );
});
