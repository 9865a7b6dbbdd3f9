import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseEmail } from "./email.ts";
import {
  editDistance,
  hasTag,
  isRoleAccount,
  nearest,
  suggestAddress,
  suggestDomain,
} from "./email-labels.ts";

describe("isRoleAccount", () => {
  const yes = [
    "postmaster",
    "POSTMASTER",
    "No-Reply",
    "no_reply",
    "do.not.reply",
    "sales+eu",
    "mailer-daemon",
    "inkling-users-request",
    '"info"',
    "buchhaltung",
  ];
  const no = [
    "jane",
    "infojane",
    "jane.admin",
    "admin1",
    "",
    "+",
    "-request",
    "+x-request",
    '""',
    '"',
    "informatik",
    "support team",
    "constructor",
  ];
  for (const local of yes) test(`${local}: yes`, () => assert.equal(isRoleAccount(local), true));
  for (const local of no) test(`${local}: no`, () => assert.equal(isRoleAccount(local), false));
});

describe("hasTag", () => {
  const yes = ["jane+shop", "jane+a+b", "j+1", '"jane+shop"'];
  const no = ["jane", "+shop", "jane+", "+", "", "jane-shop", '"+x"', "jane.shop"];
  for (const local of yes) test(`${local}: yes`, () => assert.equal(hasTag(local), true));
  for (const local of no) test(`${local}: no`, () => assert.equal(hasTag(local), false));
});

describe("suggestDomain", () => {
  const slips: readonly [host: string, meant: string][] = [
    ["gmial.com", "gmail.com"],
    ["gmai.com", "gmail.com"],
    ["gmaill.com", "gmail.com"],
    ["gnail.com", "gmail.com"],
    ["mgail.com", "gmail.com"],
    ["gmail.con", "gmail.com"],
    ["gmail.comm", "gmail.com"],
    ["gmail.co", "gmail.com"],
    ["gmail.cm", "gmail.com"],
    ["gmial.con", "gmail.com"],
    ["hotmial.com", "hotmail.com"],
    ["hotmail.cmo", "hotmail.com"],
    ["yahooo.com", "yahoo.com"],
    ["yahoo.co.uj", "yahoo.co.uk"],
    ["outlok.com", "outlook.com"],
    ["iclod.com", "icloud.com"],
    ["googelmial.com", "googlemail.com"],
    ["protonmial.com", "protonmail.com"],
    ["gmx.dee", "gmx.de"],
    ["mail.con", "mail.com"],
    ["tonline.de", "t-online.de"],
    ["comcast.ne", "comcast.net"],
    ["comcast.con", "comcast.net"],
    ["yaho.com", "yahoo.com"],
    ["hotmail.co", "hotmail.com"],
    ["yahoo.co", "yahoo.com"],
    ["outlook.con", "outlook.com"],
  ];
  for (const [host, meant] of slips)
    test(`${host}: ${meant}`, () => assert.equal(suggestDomain(host), meant));

  const right: readonly [host: string, why: string][] = [
    ["gmail.com", "right"],
    ["mail.com", "right, and near gmail.com"],
    ["ymail.com", "right, and near gmail.com"],
    ["email.com", "real, and near gmail.com"],
    ["mail.ru", "right, and near mail.com"],
    ["gmx.at", "real, and near gmx.de"],
    ["gmx.net", "right, and near gmx.de"],
    ["gmx.us", "real"],
    ["web.dev", "a real ending behind a short name"],
    ["web.com", "real"],
    ["yahoo.gr", "a country of the provider"],
    ["gmail.de", "another owner's in Germany"],
    ["mail.co", "a name that means something"],
    ["mial.con", "the same, with a slip in the name"],
    ["cloud.com", "another first letter"],
    ["fmail.com", "another first letter"],
    ["gotmail.com", "another first letter"],
    ["hotmale.com", "two slips in seven letters"],
    ["aol.co", "a short name"],
    ["free.de", "a word"],
    ["lime.com", "a word near a short name"],
    ["gmail.example.com", "special use"],
    ["mail.gmail.co", "below another owner's domain"],
    ["gmial.com.br", "another ending"],
    ["gmial.test", "special use"],
    ["gmial.co", "a slip, but a real ending"],
    ["gmx.xx", "an ending that is nothing like"],
    ["hotmail.ds", "near .de and .es"],
    ["yahoo.ft", "near .fr and .it"],
    ["gmail.sub.example.net", "below another owner's domain"],
    ["co.uk", "a public suffix"],
    ["outlook.com", "right"],
    ["yahoo.co.uk", "right"],
    ["icloud.com", "right"],
    ["proton.me", "real"],
    ["fastmail.com", "real, and near hotmail.com"],
    ["gmx.com", "right"],
    ["mail2world.com", "real"],
    ["acme.co", "a company"],
    ["look.com", "a company"],
  ];
  for (const [host, why] of right)
    test(`${host}: none (${why})`, () => assert.equal(suggestDomain(host), undefined));

  test("a suggestion is right, and within four keystrokes of what was typed", () => {
    let suggested = 0;
    const letters = "abcdefghijklmnopqrstuvwxyz-";
    fc.assert(
      fc.property(
        fc.constantFrom("gmail.com", "hotmail.com", "googlemail.com", "yahoo.co.uk", "gmx.de"),
        fc.array(fc.tuple(fc.nat(), fc.constantFrom("drop", "double", "swap", "replace"), fc.nat(26)), {
          minLength: 1,
          maxLength: 3,
        }),
        (host, edits) => {
          let typed = host;
          for (const [where, edit, letter] of edits) {
            const at = where % typed.length;
            const c = typed[at]!;
            const next = typed[at + 1] ?? "";
            const made = { drop: "", double: c + c, swap: next + c, replace: letters[letter]! }[edit];
            typed = typed.slice(0, at) + made + typed.slice(at + (edit === "swap" ? 2 : 1));
          }
          const meant = suggestDomain(typed);
          if (meant === undefined) return;
          suggested++;
          assert.equal(suggestDomain(meant), undefined);
          assert.notEqual(meant, typed);
          assert.ok(Math.abs(meant.length - typed.length) <= 4);
        },
      ),
      { numRuns: 3_000 },
    );
    assert.ok(suggested > 300, `${suggested}`);
  });
});

describe("suggestAddress", () => {
  const rows: readonly [text: string, meant: string | undefined][] = [
    ["jane@gmail.con", "jane@gmail.com"],
    ["jane@gmial.com", "jane@gmail.com"],
    ["jane@hotmial.com", "jane@hotmail.com"],
    ["jane@yahoo.co", "jane@yahoo.com"],
    ["jane@outlok.com", "jane@outlook.com"],
    ["Jane.Doe+shop@GMIAL.COM", "Jane.Doe+shop@gmail.com"],
    ["jane@gmail", undefined],
    [" jane@gmail.com ", "jane@gmail.com"],
    ["jane@gmail.com.", "jane@gmail.com"],
    [" jane@gmail.con", "jane@gmail.com"],
    ["jane@gmail.com\u200b", "jane@gmail.com"],
    ["jane@gmail.com", undefined],
    ["jane@acme.com", undefined],
    ["jane doe@gmail.con", undefined],
    ["jane..doe@gmail.com", undefined],
    ["@gmail.con", undefined],
    ["jane@", undefined],
    ["jane", undefined],
    ["notanemail", undefined],
    ["jane@acme.invalid", undefined],
    [`${"x".repeat(65)}@gmial.com`, undefined],
  ];
  for (const [text, meant] of rows)
    test(`${JSON.stringify(text)}: ${meant}`, () => {
      const address = parseEmail(text);
      const domain = address.host === undefined ? undefined : suggestDomain(address.host);
      assert.equal(suggestAddress(text, address, domain), meant);
    });
});

describe("edits between two words", () => {
  const rows: readonly [a: string, b: string, edits: number][] = [
    ["", "", 0],
    ["port", "port", 0],
    ["prot", "port", 1],
    ["por", "port", 1],
    ["ports", "port", 1],
    ["kitten", "sitting", 3],
    ["", "abc", 3],
  ];
  for (const [a, b, edits] of rows)
    test(`"${a}" to "${b}": ${edits}`, () => {
      assert.equal(editDistance(a, b), edits);
      assert.equal(editDistance(b, a), edits);
    });
});

describe("the nearest name", () => {
  const names = ["port", "host", "admin_port", "data_dir"];
  const rows: readonly [word: string, near: string | undefined][] = [
    ["prot", "port"],
    ["admin_prot", "admin_port"],
    ["datadir", "data_dir"],
    ["x", undefined],
    ["something_else", undefined],
  ];
  for (const [word, near] of rows) test(`${word}: ${near}`, () => assert.equal(nearest(word, names), near));
});
