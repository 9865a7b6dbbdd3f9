import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { canonicalMailbox, normalMailbox } from "./mailbox.ts";

describe("the canonical mailbox", () => {
  const rows: [string, string][] = [
    ["Jane.Doe+shop@gmail.com", "janedoe@gmail.com"],
    ["j.a.n.e.d.o.e@googlemail.com", "janedoe@gmail.com"],
    ["jane.doe@mac.com", "jane.doe@icloud.com"],
    ["jane_d-oe@pm.me", "janedoe@proton.me"],
    ["jane-doe@ya.ru", "jane.doe@yandex.ru"],
    ["jane-shop@yahoo.com", "jane@yahoo.com"],
    ["-jane@yahoo.com", "-jane@yahoo.com"],
    ["jane.doe+shop@example.com", "jane.doe@example.com"],
    ["jane.doe@hotmail.com", "jane.doe@hotmail.com"], // Outlook keeps dots
    ["+jane@gmail.com", "+jane@gmail.com"],
    ['"Jane+Doe"@example.com', '"jane+doe"@example.com'],
  ];
  for (const [text, mailbox] of rows)
    test(`of ${text} is ${mailbox}`, () => {
      const host = text.slice(text.lastIndexOf("@") + 1);
      assert.equal(canonicalMailbox(text, host), mailbox);
      assert.equal(canonicalMailbox(mailbox, mailbox.slice(mailbox.lastIndexOf("@") + 1)), mailbox);
    });

  test("does not change the normal form, whose hashes overrides store", () => {
    assert.equal(normalMailbox("Jane.Doe+shop@gmail.com", "gmail.com"), "jane.doe@gmail.com");
  });
});
