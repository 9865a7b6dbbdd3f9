import { describe, expect, test } from "bun:test";
import { ascii, labelEntries } from "@inkling/engine";

const told = (text: string, record?: string) =>
  labelEntries(
    text,
    text.slice(text.lastIndexOf("@") + 1),
    record === undefined ? undefined : ascii(record),
  ).map((entry) => JSON.parse(new TextDecoder().decode(entry)));
const entry = (label: string, more: object = {}) => ({ feed: "inkling", label, effect: "label", ...more });

describe("labelEntries", () => {
  test.each([
    ["jane@gmail.com", []],
    ["postmaster@gmail.com", [entry("role_account")]],
    ["jane+x@gmail.com", [entry("alias")]],
    ["jane@gmial.com", [entry("mistyped", { did_you_mean: "gmail.com" })]],
    [
      "no-reply+x@gmial.com",
      [entry("role_account"), entry("alias"), entry("mistyped", { did_you_mean: "gmail.com" })],
    ],
    ['"a@postmaster"@gmail.com', []],
    ["@gmail.com", []],
  ])("%s", (text, want) => expect(told(text)).toEqual(want));

  test.each([
    ["free_mail", []],
    ["relay", []],
    ["disposable", [entry("mistyped", { did_you_mean: "gmail.com" })]],
  ])("a slip that is on a list of the label %s", (label, want) => {
    expect(told("jane@gmial.com", `{"feed":"f","label":"${label}"`)).toEqual(want);
  });

  test("the part before the @ is never quoted", () => {
    const all =
      JSON.stringify(told('"<script>"+admin@gmial.com')) + JSON.stringify(told("sales+secret@gmial.com"));
    expect(all).not.toMatch(/script|secret|sales/);
  });
});
