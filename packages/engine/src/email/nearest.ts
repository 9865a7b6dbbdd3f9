// nearest.ts: "did you mean …?"

/** Edits that still count as a typing error, by length of the word. */
const allowedEdits = (word: string) => (word.length < 5 ? 1 : word.length < 10 ? 2 : 3);

/** The candidate closest to `word`, or undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = allowedEdits(word) + 1;
  for (const candidate of candidates) {
    const edits = editDistance(word, candidate);
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, older[j - 2]! + 1);
      }
      row.push(edits);
    }
    older = previous;
    previous = row;
  }
  return previous[b.length]!;
}
