import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ascii } from "../email/ascii.ts";
import { SPAN_NONE } from "../segment/evidence.ts";
import { labelEntries } from "./opt-ins.ts";

/** Returns a record with this single entry (packages/engine/segment-format.md). */
const recordOf = (text: string) =>
  Uint8Array.from([1, 0, 0, 0, 0, 0, text.length, 0, SPAN_NONE, ...ascii(text)]);
const labels = (text: string, record?: string) =>
  labelEntries(
    text,
    text.slice(text.lastIndexOf("@") + 1),
    record === undefined ? undefined : recordOf(record),
  ).map((entry) => JSON.parse(new TextDecoder().decode(entry)));
const entry = (label: string, more: object = {}) => ({ feed: "inkling", label, effect: "label", ...more });

describe("labelEntries", () => {
  const rows: [text: string, want: object[]][] = [
    ["jane@gmail.com", []],
    ["postmaster@gmail.com", [entry("role_account")]],
    ["jane+x@gmail.com", [entry("alias")]],
    ["jane@gmial.com", [entry("mistyped", { did_you_mean: "gmail.com" })]],
    [
      "no-reply+x@gmial.com",
      [entry("role_account"), entry("alias"), entry("mistyped", { did_you_mean: "gmail.com" })],
    ],
    ["jane@xn--gmal-n9d.com", [entry("confusable", { did_you_mean: "gmail.com" })]],
    ['"a@postmaster"@gmail.com', []],
    ["@gmail.com", []],
  ];
  for (const [text, want] of rows) test(text, () => assert.deepEqual(labels(text), want));

  const lists: [label: string, want: object[]][] = [
    ["free_mail", []],
    ["relay", []],
    ["disposable", [entry("mistyped", { did_you_mean: "gmail.com" })]],
  ];
  for (const [label, want] of lists) {
    test(`a mistyped domain with the label ${label}`, () =>
      assert.deepEqual(labels("jane@gmial.com", `{"feed":"f","label":"${label}"`), want));
  }

  test("the part before the @ is never quoted", () => {
    const all =
      JSON.stringify(labels('"<script>"+admin@gmial.com')) + JSON.stringify(labels("sales+secret@gmial.com"));
    assert.doesNotMatch(all, /script|secret|sales/);
  });
});
