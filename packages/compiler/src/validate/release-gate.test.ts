// Tests which releases are held for the operator, with each bound at its limit.

import { describe, expect, test } from "bun:test";
import { type FeedReport, parsePrefix, type Release } from "@inkling/engine";
import type { NetworkClaims } from "../catalog/claims.ts";
import { judgeNetworks } from "../policy/reputation.ts";
import { findProblems, flaggedBy } from "./release-gate.ts";

type Known = Pick<Release, "flagged" | "disposable" | "feeds">;
const PUBLIC_4 = 3_702_258_432;
const list = (id: string, v4: number, sets = "is_proxy"): FeedReport => ({
  id,
  sets,
  source: "fetched",
  state: "loaded",
  entries: 1,
  licence: "",
  space: { v4, v6: 0 },
});
interface Spaces {
  readonly v4?: number;
  readonly v6?: number;
  readonly overruled?: number;
  readonly guarded?: number;
}
const release = (flag: string, spaces: Spaces, feeds: readonly FeedReport[] = [list("a", 1)]): Known => {
  const { v4 = 0, v6 = 0, overruled = 0, guarded = 1_000_000 } = spaces;
  return {
    flagged: {
      [flag]: { flagged: { v4, v6 }, guarded: { v4: guarded, v6: 0 }, overruled: { v4: overruled, v6: 0 } },
    },
    feeds: [...feeds],
  };
};

const domains = (disposable: number): Known => ({
  disposable,
  feeds: [{ ...list("d", 0, "disposable"), entries: disposable }],
});

const MILLION = 1_000_000;
const rows: readonly [name: string, next: Known, before: Known | undefined, held: boolean][] = [
  ["the first release, at 2%", release("is_proxy", { v4: 0.02 * PUBLIC_4 }), undefined, false],
  ["the first release, above it", release("is_proxy", { v4: 0.02 * PUBLIC_4 + 1 }), undefined, true],
  ["abusers above 2%", release("is_abuser", { v4: 0.021 * PUBLIC_4 }), undefined, true],
  ["exits at 0.01%", release("is_tor_exit", { v4: 0.0001 * PUBLIC_4 - 1 }), undefined, false],
  ["exits above it", release("is_tor_exit", { v4: 0.0001 * PUBLIC_4 + 1 }), undefined, true],
  ["32,768 IPv6 networks of /32", release("is_proxy", { v6: 2 ** 47 }), undefined, false],
  ["more than that", release("is_proxy", { v6: 2 ** 48 }), undefined, true],
  [
    "half as much again, and what is free",
    release("is_proxy", { v4: 15 * MILLION + 1_850_000 }),
    release("is_proxy", { v4: 10 * MILLION }),
    false,
  ],
  [
    "more than that",
    release("is_proxy", { v4: 15 * MILLION + 1_850_001 }),
    release("is_proxy", { v4: 10 * MILLION }),
    true,
  ],
  [
    "more than that, from a list that is new",
    release("is_proxy", { v4: 30 * MILLION }, [list("a", 1), list("b", 20 * MILLION)]),
    release("is_proxy", { v4: 10 * MILLION }),
    false,
  ],
  [
    "more than that, when only a list for another flag is new",
    release("is_proxy", { v4: 30 * MILLION }, [list("a", 1), list("b", 9, "is_abuser")]),
    release("is_proxy", { v4: 10 * MILLION }),
    true,
  ],
  [
    "more than that, from a list that the operator accepts",
    release("is_proxy", { v4: 30 * MILLION }, [list("accepted", 1)]),
    release("is_proxy", { v4: 10 * MILLION }, [list("accepted", 1)]),
    false,
  ],
  [
    "above 2%, from a list that the operator accepts",
    release("is_proxy", { v4: 0.021 * PUBLIC_4 }, [list("accepted", 1)]),
    undefined,
    false,
  ],
  [
    "above 2%, as in the release before",
    release("is_proxy", { v4: 0.021 * PUBLIC_4 }),
    release("is_proxy", { v4: 0.021 * PUBLIC_4 }),
    false,
  ],
  [
    "IPv6, from nothing to 257 networks of /32",
    release("is_proxy", { v6: 257 * 2 ** 32 }),
    release("is_proxy", {}),
    true,
  ],
  [
    "a release of before this was counted",
    release("is_proxy", { v4: 30 * MILLION }),
    { feeds: [list("a", 1)] },
    false,
  ],
  [
    "5% of what guards protect",
    release("is_proxy", { guarded: 10 * MILLION, overruled: 500_000 }),
    undefined,
    false,
  ],
  ["more than that", release("is_proxy", { guarded: 10 * MILLION, overruled: 500_001 }), undefined, true],
  ["all of a few", release("is_proxy", { guarded: 65_536, overruled: 65_536 }), undefined, false],
  ["no reputation at all", { feeds: [] }, release("is_proxy", { v4: 1 }), false],
  ["half is left", release("is_proxy", { v4: 5_000 }), release("is_proxy", { v4: 10_000 }), false],
  ["less is left", release("is_proxy", { v4: 4_999 }), release("is_proxy", { v4: 10_000 }), true],
  ["less is left of a few", release("is_proxy", { v4: 1 }), release("is_proxy", { v4: 501 }), false],
  ["less is left of IPv6", release("is_proxy", { v6: 2 ** 32 }), release("is_proxy", { v6: 2 ** 34 }), true],
  [
    "no reputation is left, and its list is missing",
    { feeds: [{ ...list("a", 1), state: "missing" }] },
    release("is_proxy", { v4: 10_000 }),
    true,
  ],
  [
    "nothing is left, as a list has expired",
    release("is_proxy", {}, [{ ...list("a", 1), state: "expired" }]),
    release("is_proxy", { v4: 10_000 }),
    false,
  ],
  [
    "nothing is left, as a list was turned off",
    release("is_proxy", {}, [list("b", 1)]),
    release("is_proxy", { v4: 10_000 }, [list("a", 1), list("b", 1)]),
    false,
  ],
  [
    "nothing is left, as a list for another flag was turned off",
    release("is_proxy", {}, [list("a", 1)]),
    release("is_proxy", { v4: 10_000 }, [list("a", 1), list("b", 1, "is_abuser")]),
    true,
  ],
  [
    "nothing is left, of a list that the operator accepts",
    release("is_proxy", {}, [list("accepted", 0)]),
    release("is_proxy", { v4: 10_000 }, [list("accepted", 1)]),
    false,
  ],
  ["half of the domains are left", domains(5_000), domains(10_000), false],
  ["fewer domains are left", domains(4_999), domains(10_000), true],
  ["fewer domains are left of a few", domains(1), domains(501), false],
  ["a release of before domains were counted", domains(1), { feeds: [] }, false],
];
test.each(rows)("%s", (_name, next, before, held) => {
  expect(findProblems(next, before, ["accepted"]).length > 0).toBe(held);
});

const reasons = (next: Known, before: Known) =>
  findProblems(next, before, []).map(({ kind, why }) => `${kind} ${why}`);

test("the reason names what would be flagged and the lists that grew most", () => {
  const before = release("is_proxy", { v4: 10 * MILLION }, [list("a", 3 * MILLION), list("b", 7 * MILLION)]);
  const next = release("is_proxy", { v4: 30 * MILLION }, [list("a", 23 * MILLION), list("b", 7 * MILLION)]);
  expect(reasons(next, before)).toEqual([
    "reputation is_proxy: 0.81% of public IPv4 would be flagged, up from 0.27% of public IPv4 " +
      "(a covers 0.62% of public IPv4, up from 0.081% of public IPv4)",
  ]);
});

test("the reason names what is lost and the lists that lost most", () => {
  const lost = { ...list("b", 1), state: "missing", entries: 0 } as const;
  const before = release("is_proxy", { v4: 10 * MILLION }, [{ ...list("a", 9), entries: 9 }, list("b", 1)]);
  const next = release("is_proxy", { v4: MILLION }, [list("a", 1), lost]);
  expect(reasons(next, before)).toEqual([
    "reputation is_proxy: only 0.027% of public IPv4 would be flagged, down from 0.27% of public IPv4 " +
      "(a has 1 entry, down from 9; b is missing)",
  ]);
  expect(reasons(domains(1), domains(1_000))).toEqual([
    "email disposable: only 1 domain would be flagged, down from 1000 (d has 1 entry, down from 1000)",
  ]);
});

describe("what a judgement flags", () => {
  const claim = (row: Partial<NetworkClaims>, ...networks: string[]): NetworkClaims => ({
    feed: "x",
    subject: "is_proxy",
    label: "vpn",
    ...row,
    networks: networks.map((text) => parsePrefix(text)!),
  });
  test("each flag, what is guarded against it, and what lists name of that", () => {
    const judged = judgeNetworks([
      claim({}, "45.0.0.0/16", "2a0b::/32"),
      claim(
        { feed: "y", subject: "is_abuser", label: "criminal_network" },
        "45.0.0.0/24",
        "10.0.0.0/8",
        "2a0c::1",
      ),
      claim({ feed: "cdn", subject: "guard", label: "cdn" }, "45.0.0.0/25", "46.0.0.0/16"),
    ]);
    expect(flaggedBy(judged)).toMatchObject({
      is_abuser: {
        flagged: { v4: 128, v6: 1 },
        guarded: { v4: 128 + 65_536, v6: 0 },
        overruled: { v4: 128, v6: 0 },
      },
      is_proxy: {
        flagged: { v4: 65_536, v6: 2 ** 32 },
        guarded: { v4: 0, v6: 0 },
        overruled: { v4: 0, v6: 0 },
      },
      is_tor_exit: { flagged: { v4: 0, v6: 0 }, guarded: { v4: 0, v6: 0 }, overruled: { v4: 0, v6: 0 } },
    });
  });
});
