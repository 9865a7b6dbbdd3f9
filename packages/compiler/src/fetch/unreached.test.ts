import { expect, test } from "bun:test";
import { splitTrouble, unreachedWords } from "./unreached.ts";

const away = (source: string, why = "host not found") =>
  `${source}: https://a.example/x ${unreachedWords(why)}`;
const EXPIRED = "last-good: is more than 30 days old: its claims are dropped";

const rows: [name: string, error: string, unreached: string | undefined, rest: string][] = [
  ["a publisher", away("publisher"), "host not found", ""],
  ["a publisher, as earlier versions named it", away("fetched"), "host not found", ""],
  ["a mirror", away("mirror", "connection refused"), "connection refused", ""],
  ["two URLs of one publisher", `${away("publisher")}; ${away("publisher")}`, "host not found", ""],
  ["an old copy beside", `${away("publisher")}; ${EXPIRED}`, "host not found", EXPIRED],
  [
    "one URL that answered",
    `publisher: https://a.example/x answered 500; ${away("publisher")}`,
    "host not found",
    "publisher: https://a.example/x answered 500",
  ],
  [
    "words of a file",
    "publisher: could not be reached: says the page",
    undefined,
    "publisher: could not be reached: says the page",
  ],
  ["another trouble", "publisher: is empty", undefined, "publisher: is empty"],
];
test.each(rows)("%s", (_, error, unreached, rest) => {
  expect(splitTrouble(error)).toEqual({ unreached, rest });
});
