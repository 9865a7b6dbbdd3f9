import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ADMIN_PROBLEM_CODES, OPERATIONS, PROBLEM_CODES, PROBLEMS } from "@inkling/contract";
import { AdminProblem, problem, problemBody } from "./problems.ts";

describe("problems", () => {
  test.each(PROBLEM_CODES)("%s is a problem document", (code) => {
    const document = JSON.parse(problemBody(problem(code), "abc123"));
    expect(Object.keys(document)).toEqual(["type", "title", "status", "detail", "code", "request_id"]);
    expect(document).toMatchObject({ code, request_id: "abc123", status: PROBLEMS[code].status });
    expect(document.type).toBe(`/docs/errors#${code.toLowerCase()}`);
  });

  test("of the admin API lists each fault", () => {
    const document = JSON.parse(problemBody(new AdminProblem("BODY_INVALID", "x", ["y"]), "abc123"));
    expect(document).toEqual({
      type: "/docs/errors#body_invalid",
      title: "Invalid request body",
      status: 400,
      detail: "x",
      code: "BODY_INVALID",
      request_id: "abc123",
      problems: ["y"],
    });
  });

  test("the details of methods and bodies hold on every path, with GET or with POST", () => {
    for (const code of ["METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"] as const)
      expect(PROBLEMS[code].detail).not.toMatch(/GET|HEAD|POST|no body/);
  });

  test("headers of the table remain when others are added", () => {
    expect(problem("KEY_MISSING", "x", { A: "b" }).headers).toEqual({
      "WWW-Authenticate": 'Bearer realm="inkling"',
      A: "b",
    });
  });
});

test.each([
  ["batches", OPERATIONS.geolocate_batch],
  ["outcomes", OPERATIONS.assess_outcome],
] as const)("the rows of the problems that /openapi.json lists for %s say so", (returner, { problems }) => {
  const unlisted = problems.filter((code) => !(PROBLEMS[code].by as readonly string[]).includes(returner));
  expect(unlisted).toEqual([]);
});

const PAGES = [
  ["errors.md", PROBLEM_CODES],
  ["admin-api.md", ADMIN_PROBLEM_CODES.filter((code) => !Object.hasOwn(PROBLEMS, code))],
] as const;
test.each(PAGES)("docs/%s has one section for each code, in order", async (page, codes) => {
  const docs = await Bun.file(join(import.meta.dir, "../../../../docs", page)).text();
  const sections = [...docs.matchAll(/^##+ ([A-Z_]+)$/gm)].map(([, code]) => code!);
  expect(sections).toEqual([...codes]);
});
