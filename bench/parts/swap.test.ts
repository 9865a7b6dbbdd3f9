import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import * as engine from "@inkling/engine";
import { verifyRelease } from "@inkling/release-store";
import { smallRelease, temporaryFolder } from "../../test/release.ts";
import { openCurrent } from "../lib/data.ts";
import { KINDS, marked, publishMarked } from "./swap.ts";

test("all answers of the marked release have the marked texts, those in templates too", () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const before = openCurrent(dataDir);
  const release = publishMarked(dataDir, before);
  verifyRelease(dataDir, engine.releaseName(release));
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  for (const kind of kinds) {
    const textOf = (path: string) => {
      const answers = new engine.Answers(engine.openSegment(new Uint8Array(readFileSync(path)), kind));
      const all = Array.from({ length: answers.count }, (_, number) => answers.at(number) ?? []);
      return all.map((bytes) => Buffer.from(bytes).toString()).join("\n");
    };
    let want = textOf(before.segmentPath(kind));
    for (const text of KINDS[kind].texts) {
      expect(want).toContain(text);
      want = want.replaceAll(text, marked(text));
    }
    expect(textOf(openCurrent(dataDir).segmentPath(kind))).toBe(want);
  }
});
