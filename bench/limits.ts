// limits.ts: of each target that is not reached: what limits it, by a profile, and what was tried. Written by hand; quoted by
// RESULTS.md when the figures say that the target is not reached, and unused otherwise.

/** By the id of a target (lib/targets.ts). */
export const LIMITS: Readonly<Record<string, string>> = {};
