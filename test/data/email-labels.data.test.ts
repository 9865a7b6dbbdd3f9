// Tests, with a list of free mail providers and all universities, that no suggestion corrects a domain that receives
// mail.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suggestDomain } from "@inkling/engine";
import { MIRROR, VECTORS } from "../harness/data-folders.ts";

const corrected = (domains: readonly string[]) =>
  domains.flatMap((domain) => {
    const meant = suggestDomain(domain);
    return meant === undefined ? [] : [`${domain} -> ${meant}`];
  });

describe("real mail domains", () => {
  test.each<[file: string, least: number, mistakes: readonly string[]]>([
    // These domains are on the list by mistake.
    ["free-mail.txt", 4_000, ["hotmail.co -> hotmail.com", "yaho.com -> yahoo.com", "yahoo.co -> yahoo.com"]],
    ["relay-mail.txt", 30, []],
  ])("none of %s is corrected, but for its mistakes", (file, least, mistakes) => {
    const domains = readFileSync(join(MIRROR, file), "utf8").split(/\r?\n/).filter(Boolean);
    expect(domains.length).toBeGreaterThan(least);
    expect(corrected(domains).sort()).toEqual([...mistakes]);
  });
});

describe("universities", () => {
  test("none is corrected", () => {
    const text = readFileSync(join(VECTORS, "guards/university_domains.json"), "utf8");
    const domains = [...new Set(text.match(/[a-z0-9.-]+\.[a-z]{2,}/g))];
    expect(domains.length).toBeGreaterThan(10_000);
    expect(corrected(domains)).toEqual([]);
  });
});
