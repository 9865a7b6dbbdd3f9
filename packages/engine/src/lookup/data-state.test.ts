import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FeedReport, Release } from "../segment/release.ts";
import { StateHeaders, stateHeaders } from "./data-state.ts";

const NOW = Date.parse("2026-11-23T12:00:00Z");
const HOUR_MS = 3_600_000;
const feed = (
  sets: string,
  hours: number | undefined,
  state: FeedReport["state"] = "loaded",
): FeedReport => ({
  id: `of-${sets}`,
  sets,
  source: "fetched",
  state,
  entries: 10,
  licence: "",
  ...(hours !== undefined && { published_at: new Date(NOW - hours * HOUR_MS).toISOString() }),
});
const partial = (...answers: Release["missing"]) => answers.map((answer) => ({ answer, why: "without x" }));

describe("Inkling-Data-State", () => {
  const none = { missing: [], partial: [] };
  const rows: readonly [string, Pick<Release, "missing" | "partial">, FeedReport[], string | undefined][] = [
    ["all there, no age known", none, [feed("is_proxy", undefined)], undefined],
    ["all there", none, [feed("is_proxy", 3), feed("disposable", 9)], 'complete; age="is_proxy:3h"'],
    [
      "incomplete, with the ages of this lookup",
      { missing: [], partial: partial("is_proxy", "disposable") },
      [feed("is_proxy", 3), feed("is_tor_exit", 93 * 24), feed("geolocation", 1)],
      'partial; incomplete="is_proxy"; age="is_proxy:3h is_tor_exit:93d"',
    ],
    [
      "no main feed: missing where nothing sets the flag, incomplete where a list of ours does",
      { missing: ["is_abuser", "is_proxy"], partial: partial("is_tor_exit") },
      [feed("is_abuser", 1, "expired"), feed("is_proxy", undefined), feed("is_tor_exit", undefined)],
      'partial; missing="is_abuser"; incomplete="is_proxy is_tor_exit"',
    ],
  ];
  for (const [name, release, feeds, want] of rows)
    test(name, () => assert.equal(stateHeaders(release, feeds, NOW).reputation.plain, want));

  test("is made once a minute, when the release changes, and when the clock is set back", () => {
    const [one, two] = [none, none].map((gaps) => ({ ...gaps, feeds: [] }) as unknown as Release);
    let made = 0;
    const feeds = () => {
      made++;
      return [feed("is_proxy", 3)];
    };
    const headers = new StateHeaders();
    const at = (release: Release, minutes: number) => {
      const { plain } = headers.at(release, feeds, NOW + minutes * 60_000).reputation;
      return [plain, made];
    };
    assert.deepEqual(at(one!, 0), ['complete; age="is_proxy:3h"', 1]);
    assert.equal(headers.at(one!, feeds, NOW + 59_999), headers.at(one!, feeds, NOW));
    assert.equal(made, 1);
    assert.deepEqual(at(one!, 60), ['complete; age="is_proxy:4h"', 2]);
    assert.deepEqual(at(two!, 60), ['complete; age="is_proxy:4h"', 3]);
    assert.deepEqual(at(two!, 0), ['complete; age="is_proxy:3h"', 4]);
  });
});
