// Tests fetching of samples, from repositories on this machine.

import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/harness/temporary-folder.ts";
import { fetchSamples, SAMPLE, type Sample } from "./samples.ts";

const origin = temporaryFolder();
const samples = temporaryFolder();

function git(...args: string[]) {
  const { status, stdout, stderr } = spawnSync("git", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Creates a repository with one commit. @returns the commit */
function repository(name: string, files: Record<string, string>, author = "Jane <jane@example.com>"): string {
  const folder = join(origin, name);
  git("init", "--quiet", folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  git("-C", folder, "add", "-A");
  git(
    ...["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"],
    ...["commit", "--quiet", "--author", author, "-m", "x"],
  );
  git("-C", folder, "config", "uploadpack.allowAnySHA1InWant", "true");
  git("-C", folder, "config", "uploadpack.allowFilter", "true");
  return git("-C", folder, "rev-parse", "HEAD");
}

const sampleOf = (name: keyof typeof SAMPLE, over: object): Sample => {
  const sample: Sample = SAMPLE[name];
  const { commit: _, ...repositories } = sample.repositories!;
  return { ...sample, path: join(samples, name), repositories: { ...repositories, ...over } };
};

function fetchAll(all: readonly Sample[]): string[] {
  const lines: string[] = [];
  fetchSamples(all, `file://${origin}`, (line) => lines.push(line));
  return lines;
}

test("a file, a folder, domains of a file's elements and of authors are fetched once, at their commit", () => {
  const old = repository("a/castle", { "disposable-email-domains.txt": "old.example\n" });
  repository("a/castle", { "disposable-email-domains.txt": "new.example\n" });
  repository("a/blocklist", { "dist/access.txt": "AS1\n" });
  repository("a/thunderbird", { "ispdb/x.xml": "<domain>a.example</domain><domain>b.example</domain>" });
  repository("a/rails", { x: "" }, "J <j@rails.example>");
  repository("a/ansible", { x: "" }, "J <j@ansible.example>");
  const all = [
    sampleOf("castle", { names: ["a/castle"], commit: old }),
    sampleOf("systemTypes", { names: ["a/blocklist"] }),
    sampleOf("mailProviders", { names: ["a/thunderbird"] }),
    sampleOf("authors", { names: ["a/rails", "a/ansible"] }),
  ];
  const lines = fetchAll(all);
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(new RegExp(`: fetched \\d{4}-\\d\\d-\\d\\d at ${old.slice(0, 7)}`));
  const read = (path: string) => readFileSync(join(samples, path), "utf8");
  expect(read("castle")).toBe("old.example\n");
  expect(read("systemTypes/access.txt")).toBe("AS1\n");
  expect(read("mailProviders")).toBe("a.example\nb.example\n");
  expect(read("authors")).toBe("rails.example\nansible.example\n");
  expect(fetchAll(all)).toEqual([]);
});

test("a repository that cannot be fetched is reported, and the others are fetched", () => {
  repository("b/kukulu", { "domains.txt": "k.example\n" });
  const all = [
    sampleOf("emailondeck", { names: ["b/none"] }),
    sampleOf("kukulu", { names: ["b/kukulu"] }),
    { ...SAMPLE.castle, path: "" }, // INKLING_SAMPLES is not set
  ];
  expect(fetchAll(all)).toEqual([
    expect.stringMatching(/^emailondeck.*: fatal: /),
    expect.stringMatching(/^kuku\.lu.*: fetched /),
  ]);
  expect(existsSync(join(samples, "emailondeck"))).toBe(false);
});
