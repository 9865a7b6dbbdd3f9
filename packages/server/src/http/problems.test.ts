import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { PROBLEM_CODES, PROBLEMS, problem, problemBody, problemType } from "./problems.ts";

describe("problems", () => {
  test.each(PROBLEM_CODES)("%s is a problem document", (code) => {
    const document = JSON.parse(problemBody(problem(code), "abc123"));
    expect(Object.keys(document)).toEqual(["type", "title", "status", "detail", "code", "request_id"]);
    expect(document).toMatchObject({ code, request_id: "abc123", status: PROBLEMS[code].status });
    expect(document.type).toBe(problemType(code));
  });

  test("the details of methods and bodies hold on every path, with GET or with POST", () => {
    for (const code of ["METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"] as const)
      expect(PROBLEMS[code].detail).not.toMatch(/GET|HEAD|POST|no body/);
  });

  test("headers of the table stay when others are added", () => {
    expect(problem("KEY_MISSING", "x", { A: "b" }).headers).toEqual({
      "WWW-Authenticate": 'Bearer realm="inkling"',
      A: "b",
    });
  });
});

describe("docs/errors.md", () => {
  test("has one section for each code, in order, with its status and title", async () => {
    const docs = await Bun.file(join(import.meta.dir, "../../../../docs/errors.md")).text();
    const sections = [...docs.matchAll(/^### (\w+)\n\n(\d+) · (.+)$/gm)].map(([, code, status, title]) => ({
      code,
      status: Number(status),
      title,
    }));
    expect(sections).toEqual(
      PROBLEM_CODES.map((code) => ({ code, status: PROBLEMS[code].status, title: PROBLEMS[code].title })),
    );
  });
});
