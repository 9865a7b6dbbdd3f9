// pins.test.ts: lists everything that a release uses by tag. A tag's owner can move it, so the list makes each new tag
// noticeable.

import { expect, test } from "bun:test";
import { made, type ProjectFile, projectFiles } from "./harness/project-files.ts";

/** Actions without a commit hash, and images without a digest. */
function unpinned(files: readonly ProjectFile[]): string[] {
  const found = files.flatMap(({ path, text }) => {
    if (path.startsWith(".github/workflows/"))
      return [...text.matchAll(/^\s*(?:- )?uses: (\S+)/gm)]
        .map(([, name]) => name!)
        .filter((name) => !/@[0-9a-f]{40}$/.test(name));
    if (!path.startsWith("deploy/container/")) return [];
    return [...text.matchAll(/^(?:ARG (?:NODE|BASE)=|\s+image: |FROM )(\S+\.\S+\/\S+)/gm)]
      .map(([, name]) => name!)
      .filter((name) => !/@sha256:[0-9a-f]{64}$/.test(name));
  });
  return [...new Set(found)].sort();
}

/** CONTRIBUTING.md explains how to pin them. */
const KNOWN = [
  "docker.io/library/node:22-bookworm-slim",
  "docker.io/library/postgres:17",
  "docker.io/prom/prometheus:v3.0.1",
  "gcr.io/distroless/base-nossl-debian12:nonroot",
];

test("no action or image is taken by tag but those that CONTRIBUTING.md names", () => {
  const files = projectFiles();
  expect(unpinned(files)).toEqual(KNOWN);
  const page = files.find(({ path }) => path === "CONTRIBUTING.md")!.text;
  for (const name of KNOWN) expect(page).toContain(`\`${name}\``);
});

test("a tag is found, a commit or digest is not", () => {
  const hash = "0".repeat(40);
  const workflow = `- uses: a/b@v1\n  uses: c/d@${hash}\n`;
  const compose = `    image: docker.io/a/b:1\n    image: docker.io/a/c:1@sha256:${"0".repeat(64)}\n`;
  expect(
    unpinned([made(".github/workflows/x.yml", workflow), made("deploy/container/compose.yaml", compose)]),
  ).toEqual(["a/b@v1", "docker.io/a/b:1"]);
});
