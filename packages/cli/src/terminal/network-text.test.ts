import { expect, test } from "bun:test";
import { recordOf } from "@inkling/contract";
import { ADDRESS_FLAGS } from "@inkling/engine";
import { networkLine } from "./network-text.ts";
import { makeStyle } from "./terminal.ts";

test.each<[examined: number, flagged: number, line: string]>([
  [1, 0.25, "25% of addresses are flagged (abuser 25%)"],
  [0.051, 0.25, "in the 5.1% that was examined, 25% of addresses are flagged (abuser 25%)"],
  [0.051, 0, "in the 5.1% that was examined, nothing known against it"],
])("%p examined, %p flagged", (examined, flagged, line) => {
  const report = {
    networks: [],
    examined,
    reserved: 0,
    flagged,
    flags: recordOf(ADDRESS_FLAGS, (flag) => (flag === "is_abuser" ? flagged : 0)),
    countries: [],
    prefix_count: 1,
    prefixes: [],
    sources: [],
    owners: [],
  };
  const look = { missing: [], withEvidence: false, style: makeStyle(false) };
  expect(networkLine("0.0.0.0/0", report, look)).toBe(`0.0.0.0/0: ${line}`);
});
