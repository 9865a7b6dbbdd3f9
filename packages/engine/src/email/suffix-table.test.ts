import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  edgeChild,
  edgeLength,
  edgeStart,
  exceptionsRoot,
  labelText,
  rulesRoot,
} from "tldts/dist/cjs/src/data/trie.js";
import { cutSuffix } from "./domain.ts";
import { hashDomain } from "./domain-hash.ts";
import { SuffixTable } from "./suffix-table.ts";

/** Names of rules, and names above them, whole: "*" as it stands. */
function namesOf(root: number): string[] {
  const starts = [0];
  for (const length of edgeLength) starts.push(starts.at(-1)! + length);
  const names: string[] = [];
  const walk = (node: number, above: string) => {
    for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
      const name = labelText.slice(starts[edge], starts[edge + 1]) + above;
      names.push(name);
      walk(edgeChild[edge]!, `.${name}`);
    }
  };
  walk(root, "");
  return names.filter((name) => /^[a-z0-9.*-]+$/.test(name));
}

const table = new SuffixTable(["test", "example.com", "a.b.c.unheard"]);

/** As a mailbox is read: each label's beginning and hash, the last label first. */
function askTable(host: string): number {
  const starts: number[] = [];
  for (let dot = host.length; dot >= 0; dot = host.lastIndexOf(".", dot - 1)) {
    starts.push(host.lastIndexOf(".", dot - 1) + 1);
    if (starts.at(-1) === 0) break;
  }
  const hashes = starts.map((start) => hashDomain(host.slice(start), 0));
  const label = table.registrableLabel(host, Int32Array.from(starts), Int32Array.from(hashes), starts.length);
  return label < 0 ? -1 : starts[label]!;
}

/** Whether the table decided; throws where it disagrees with tldts. */
function compare(host: string): boolean {
  const got = askTable(host);
  if (got < 0) return false;
  assert.deepEqual({ registrableStart: got, known: true }, cutSuffix(host), host);
  return true;
}

const rules = namesOf(rulesRoot);
const exceptions = namesOf(exceptionsRoot);

test("the table agrees with tldts at every rule, above and below", () => {
  let decided = 0;
  let leftToTldts = 0;
  for (const rule of rules) {
    for (const name of [rule.replace("*", "any"), rule.replace("*.", ""), rule.replace(/^[^.]*/, "other")]) {
      for (const host of [name, `a.${name}`, `b.a.${name}`, `xn--a.${name}`, `com.${name}`]) {
        if (!host.includes(".")) continue;
        compare(host) ? decided++ : leftToTldts++;
      }
    }
  }
  assert.ok(rules.length > 10_000, `only ${rules.length} names`);
  assert.ok(decided > 130_000, `only ${decided} decided`);
  assert.ok(leftToTldts < 50_000, `${leftToTldts} left to tldts`);
});

test("exceptions, what is above and what is below them", () => {
  const endings = exceptions.filter((name) => name.split(".").length > 1);
  assert.ok(endings.length > 8, `only ${endings.length}`);
  for (const name of exceptions) {
    for (const host of [name, `a.${name}`, `b.a.${name}`, `not${name}`, `a.not${name}`]) compare(host);
  }
});

describe("registrableLabel", () => {
  const rows: readonly [host: string, registrable: string | undefined][] = [
    ["example.de", "example.de"],
    ["a.b.example.de", "example.de"],
    ["example.co.uk", "example.co.uk"],
    ["a.example.co.uk", "example.co.uk"],
    ["a.someone.github.io", "someone.github.io"],
    ["a.b.test.ck", "b.test.ck"], // *.ck
    ["a.compute.amazonaws.com", undefined], // *.compute.amazonaws.com: itself a suffix
    ["www.ck", undefined], // !www.ck
    ["a.city.kawasaki.jp", undefined], // !city.kawasaki.jp
    ["co.uk", undefined],
    ["a.b.nosuchtld", undefined],
    ["b.test", undefined], // left to tldts from here on
    ["example.com", undefined],
    ["a.example.com", undefined],
    ["notexample.com", "notexample.com"],
    ["x.c.unheard", undefined],
    ["com.com", "com.com"],
  ];
  for (const [host, registrable] of rows) {
    test(host, () => {
      const start = askTable(host);
      assert.equal(start < 0 ? undefined : host.slice(start), registrable);
    });
  }
});

test("an excluded name does not hide neighbouring rules", () => {
  const { registrableLabel } = SuffixTable.prototype;
  const left = new SuffixTable(["mine.uk", "deep.mine.ck"]);
  const find = (host: string) => {
    const starts = [...host.matchAll(/(?<=^|\.)[^.]/g)].map(({ index }) => index).reverse();
    const hashes = starts.map((start) => hashDomain(host.slice(start), 0));
    return registrableLabel.call(left, host, Int32Array.from(starts), Int32Array.from(hashes), starts.length);
  };
  assert.equal(find("a.example.co.uk"), 2);
  assert.equal(find("a.mine.uk"), -1);
  assert.equal(
    find("a.example.mine.ck"),
    -1,
    "mine.ck is a suffix by *.ck: not for a table that has it otherwise",
  );
  assert.equal(find("a.other.ck"), 2);
});

test("a name with the hash of a rule does not match it", () => {
  // The second has the length of its rule, too.
  for (const [host, rule] of [
    ["hksn.com", "kvinnherad.no"],
    ["al8fi.com", "teramo.it"],
  ] as const) {
    assert.equal(hashDomain(host, 0), hashDomain(rule, 0));
    assert.ok(rules.includes(rule));
    assert.equal(askTable(host), 0);
    assert.equal(askTable(`a.${host}`), 2);
    assert.equal(askTable(rule), -1);
  }
});

test("no last label of the list begins with a digit", () => {
  assert.deepEqual(
    rules.filter((rule) => /(^|\.)\d[^.]*$/.test(rule)),
    [],
  );
  assert.equal(askTable("com"), -1);
  assert.equal(askTable("b.1com"), -1);
});
