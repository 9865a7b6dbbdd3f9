import { describe, expect, test } from "bun:test";
import { OPERATIONS } from "@inkling/contract";
import fc from "fast-check";
import { Parameters } from "./parameters.ts";

const EMAIL = new Parameters(OPERATIONS.email.parameters ?? []);

describe("Parameters", () => {
  test.each([
    ["nothing", "", 0],
    ["one", "include=evidence", 1],
    ["two", "include=evidence&checks=mx", 3],
    ["two, other way round", "checks=mx&include=evidence", 3],
    ["empty pieces", "&&include=evidence&", 1],
    ["percent-encoded value", "include=%65videnc%65", 1],
    ["percent-encoded name", "%69nclude=evidence", 1],
    ["an unknown name", "includes=evidence", undefined],
    ["an unknown value", "include=everything", undefined],
    ["another route's value", "include=all", undefined],
    ["no value", "include", undefined],
    ["an empty value", "include=", undefined],
    ["an empty name", "=evidence", undefined],
    ["only a =", "=", undefined],
    ["a value without a name", "evidence", undefined],
    ["case of the name", "Include=evidence", undefined],
    ["case of the value", "include=Evidence", undefined],
    ["twice", "include=evidence&include=evidence", undefined],
    ["twice, one encoded", "include=evidence&%69nclude=evidence", undefined],
    ["a list", "include=evidence,evidence", undefined],
    ["a known one, then an unknown one", "include=evidence&x=1", undefined],
    ["a plus is no space", "include=+evidence", undefined],
    ["white space", "include=evidence%20", undefined],
    ["another =", "include=evidence=", undefined],
    ["an encoded &", "include=evidence%26", undefined],
    ["an encoded =", "include%3Devidence", undefined],
    ["a cut escape", "include=evidence%2", undefined],
    ["not UTF-8", "include=%FF", undefined],
    ["NUL", "include=evidence%00", undefined],
    ["a second question mark", "?include=evidence", undefined],
    ["a semicolon", "include=evidence;checks=mx", undefined],
    ["a name of every object", "__proto__=evidence", undefined],
  ])("%s", (_, query, wants) => {
    const read = EMAIL.read(query);
    if (wants !== undefined) expect(read).toBe(wants);
    else expect(read).toMatchObject({ code: "PARAMETER_INVALID", status: 400 });
  });

  test.each([
    ["include=network", 4],
    ["include=evidence,network", 5],
    ["include=subject,evidence,network", 13],
    ["include=evidence%2Cnetwork", 5],
    ["include=network,network", undefined],
    ["include=network,", undefined],
    ["include=,network", undefined],
    ["include=network, subject", undefined],
    ["include=network&include=subject", undefined],
    ["include=network;subject", undefined],
    ["include=network,everything", undefined],
  ])("values of one name, separated by commas: %s", (query, wants) => {
    const read = new Parameters(OPERATIONS.geolocate.parameters ?? []).read(query);
    if (wants !== undefined) expect(read).toBe(wants);
    else
      expect(read).toMatchObject({
        code: "PARAMETER_INVALID",
        detail: expect.stringContaining(
          "Allowed, each parameter at most once: `include` with one or more of `evidence`, `network`, `subject`, separated by commas.",
        ),
      });
  });

  const ALLOWED = "Allowed, each parameter at most once: `include=evidence`; `checks=mx`.";
  test.each([
    ["inclde=evidence", "Unknown query parameter `inclde`."],
    ["include=everything", "Query parameter `include` has an unknown value."],
    ["include=evidence&include=evidence", "Query parameter `include` is given twice."],
    ["include=evidence,evidence", "Query parameter `include` has a value twice."],
    ["include", "A query parameter has no value, or is not valid percent-encoded UTF-8."],
    // The problem's detail contains no value, and no name that may be a secret.
    ["jane@example.com=1", "Unknown query parameter."],
    ["ink_live_3fK9mB2xQ7vR1tYz=1", "Unknown query parameter."],
  ])("a refusal names the parameter: %s", (query, fault) =>
    expect(EMAIL.read(query)).toMatchObject({ detail: `${fault} ${ALLOWED}` }),
  );
  test("a refusal of a request without parameters", () =>
    expect(new Parameters([]).read("x=1")).toMatchObject({
      detail: "Unknown query parameter `x`. This request takes no query parameters.",
    }));

  test("never throws, and accepts only what the table has", () => {
    let accepted = 0;
    const word = fc.constantFrom("include", "checks", "evidence", "mx", "=", "&", "%65", "%", "x", "");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const query = words.join("");
        const read = EMAIL.read(query);
        if (typeof read !== "number") return;
        accepted++;
        const want = new Set<string>();
        for (const [name, value] of new URLSearchParams(query)) want.add(`${name}=${value}`);
        const bits = (want.has("include=evidence") ? 1 : 0) | (want.has("checks=mx") ? 2 : 0);
        expect(want.size).toBe((bits & 1) + (bits >> 1));
        expect(read).toBe(bits);
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
