import { expect, test } from "bun:test";
import type { Answer, SystemAnswer } from "../../answers.ts";
import { verdictOf } from "./answers.ts";
import { csvOf } from "./csv.ts";

const family = (is_abuser: number) => ({ flagged: is_abuser, flags: { is_abuser } });
const systemOf = (system: object) => ({ kind: "as", system }) as unknown as SystemAnswer;

test("the verdict on an AS has the address family of each flag", () => {
  const verdict = (system: object) => verdictOf(systemOf(system), []).texts;
  expect(verdict({ ipv4: family(0.5), ipv6: family(0.25) })).toEqual([
    "Abuser 50% of IPv4",
    "Abuser 25% of IPv6",
  ]);
  expect(verdict({ ipv4: family(0), ipv6: family(0.25) })).toEqual(["Abuser 25% of IPv6"]);
  expect(verdict({ ipv4: family(0) })).toEqual(["no flags"]);
  expect(verdict({})).toEqual(["no networks known"]);
});

test("a value that the server cannot read is not readable, also in the CSV", () => {
  const problem = { code: "VALUE_INVALID", title: "Not a value" };
  const answer = {
    value: "999.1.1.1",
    kind: "unknown",
    geolocation: problem,
    reputation: problem,
    overrides: [],
  } as unknown as Answer;
  expect(verdictOf(answer, [])).toEqual({ kind: "problem", texts: ["not readable"] });
  expect(csvOf([answer], []).split("\r\n")[1]).toMatch(/^999\.1\.1\.1,not readable,.*,VALUE_INVALID$/);
});
