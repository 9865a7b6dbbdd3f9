// json-limits.ts: refuses a parsed JSON document that a schema would check slowly or incompletely. A schema reports every
// mistake, and each costs up to 30 µs, so thousands of wrong values would occupy the thread. It also skips `__proto__`.

/**
 * @param most maximum number of values in the document, containers included
 * @returns one line about the document; undefined if a schema can check it
 */
export function whyUncheckable(document: unknown, most: number): string | undefined {
  const waiting: unknown[] = [document];
  let seen = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    seen++;
    if (typeof value === "object" && value !== null) {
      if (Object.hasOwn(value, "__proto__")) return 'unknown member "__proto__"';
      const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
      if (seen + waiting.length + inner.length > most) return `more than ${most} values`;
      waiting.push(...inner);
    }
  }
  return undefined;
}
