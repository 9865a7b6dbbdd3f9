// junit.mjs: reads the JUnit reports of `bun test` and of `node --test`.

const TEST_CASE = /<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const PROBLEM = /<(?:failure|error)\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/(?:failure|error)>)/;
const SKIPPED = /<skipped\b((?:[^>"]|"[^"]*")*)>/;

/**
 * @typedef {{ file: string, name: string, message: string }} Failure `file` from the project's folder, "" when unknown
 * @typedef {{ passed: number, failures: Failure[], skipped: string[], files: Set<string> }} Results
 */

/**
 * Counts what a report holds. A test without a name is an error of the report, not of the test.
 * @returns {Results} `files` has every file of which the report has a test; Node's reports have none
 */
export function readJunit(xml) {
  const results = { passed: 0, failures: [], skipped: [], files: new Set() };
  for (const [, attributes, body = ""] of xml.matchAll(TEST_CASE)) {
    const group = attribute(attributes, "classname");
    const own = attribute(attributes, "name") ?? "?";
    const name = group && group !== "test" ? `${group} > ${own}` : own;
    const file = attribute(attributes, "file") ?? "";
    if (file) results.files.add(file);
    const problem = PROBLEM.exec(body);
    const skipped = SKIPPED.exec(body);
    if (problem) results.failures.push({ file, name, message: messageOf(problem) });
    else if (skipped) {
      const reason = attribute(skipped[1], "message");
      results.skipped.push(reason ? `${name}: ${reason}` : name);
    } else results.passed++;
  }
  return results;
}

/** The text of the element has the stack as well; without text there is the attribute. Of concurrent tests Bun has none. */
function messageOf([, attributes, text = ""]) {
  return unescapeXml(text).trim() || attribute(attributes, "message") || "";
}

function attribute(text, name) {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1];
  return value === undefined ? undefined : unescapeXml(value);
}

function unescapeXml(text) {
  const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(?:#(\d+)|(lt|gt|quot|apos|amp));/g, (_, code, name) =>
    code ? String.fromCodePoint(Number(code)) : entities[name],
  );
}
