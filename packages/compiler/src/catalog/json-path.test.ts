import { describe, expect, test } from "bun:test";
import { parseJsonPath, selectJson } from "./json-path.ts";

const DOCUMENT = {
  prefixes: [{ ip: "a", ports: [1, 2] }, { ip: "b" }, { other: "c" }, null, "d"],
  "with space": { x: ["e"], y: ["f"] },
  length: "g",
};

describe("paths", () => {
  test.each<[string, unknown[]]>([
    ["$", [DOCUMENT]],
    ["$.prefixes[*].ip", ["a", "b"]],
    ["$['prefixes'][*]['ip']", ["a", "b"]],
    ['$["with space"].*[*]', ["e", "f"]],
    ["$.prefixes[*].ports[*]", [1, 2]],
    ["$.prefixes.length", []], // arrays have elements only, no names
    ["$.length", ["g"]],
    ["$.toString", []],
    ["$.__proto__", []],
    ["$.missing[*].ip", []],
  ])("%s", (path, want) => expect(selectJson(DOCUMENT, parseJsonPath(path)!)).toEqual(want));

  test.each(["", "prefixes", "$.", "$..ip", "$[0]", "$[?@.ip]", "$.a[*", "$['a", "$.a b", "$a"])(
    "%p is none",
    (path) => expect(parseJsonPath(path)).toBeUndefined(),
  );
});
