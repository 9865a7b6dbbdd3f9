import { expect, test } from "bun:test";
import { ApiError } from "./api.ts";

test.each([
  [
    {
      title: "Invalid request body",
      detail: "The body is not what this path takes.",
      problems: ["a: b", "c: d"],
    },
    "a: b; c: d",
  ],
  [{ title: "No such key", detail: "No key has this id.", problems: [] }, "No such key. No key has this id."],
  [{}, "The server responded with status 400."],
])("%j is shown as %p", (problem, text) => expect(new ApiError(400, problem).message).toBe(text));
