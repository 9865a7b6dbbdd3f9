// Tests that every file and page section that is generated from tables is current. `npm run generate` writes them.

import { expect, test } from "bun:test";
import { fileWith, generated, nameOf } from "../scripts/generate.ts";

for (const output of generated()) {
  test(`${nameOf(output)} is what \`npm run generate\` writes`, () => {
    const { stored, wanted } = fileWith(output);
    expect(stored).toBe(wanted);
  });
}
