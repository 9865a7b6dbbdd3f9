import { expect, test } from "bun:test";
import { fewFiles } from "./open-files.ts";

const limits = (soft: string) =>
  `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}    524288    files\n`;

test.each([
  [limits("1024"), { limit: 1024, least: 4352 }],
  [limits("4351"), { limit: 4351, least: 4352 }],
  [limits("4352"), undefined],
  [limits("65536"), undefined],
  [limits("unlimited"), undefined],
  [undefined, undefined],
])("%p", (text, found) => expect(fewFiles(text)).toEqual(found));
