// json-path.ts: parses a path to the entries of a JSON document, and selects them.
//
// Source: RFC 9535 (2.3.1 names, 2.3.2 wildcard).

const WILDCARD = Symbol("*");
type Step = string | typeof WILDCARD;

const STEP = /\.([A-Za-z_][\w-]*)|\.(\*)|\[(\*)\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]/y;

/** @returns undefined if the text is not a supported path */
export function parseJsonPath(text: string): readonly Step[] | undefined {
  if (!text.startsWith("$")) return undefined;
  const steps: Step[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (match === null) return undefined;
    const [, dotted, star, element, single, double] = match;
    steps.push((star ?? element) === undefined ? (dotted ?? single ?? double)! : WILDCARD);
  }
  return steps;
}

/**
 * Returns every value that the path leads to. If an object does not have a name from the path, nothing is selected
 * there.
 */
export function selectJson(document: unknown, steps: readonly Step[]): unknown[] {
  let found = [document];
  for (const step of steps) {
    const next: unknown[] = [];
    for (const value of found) {
      if (typeof value !== "object" || value === null) continue;
      if (step === WILDCARD) for (const each of Object.values(value)) next.push(each);
      else if (!Array.isArray(value) && Object.hasOwn(value, step))
        next.push((value as Readonly<Record<string, unknown>>)[step]);
    }
    found = next;
  }
  return found;
}
