// @inkling/engine/assess: decides an action, with its reasons, from facts and a ruleset. It is a separate entry point
// because zod and the condition parser take tens of milliseconds to load, and a lookup needs neither.

export * from "./answer.ts";
export * from "./assess.ts";
export * from "./calibration.ts";
export * from "./decide.ts";
export * from "./domains-today.ts";
export * from "./facts.ts";
export * from "./history.ts";
export * from "./replay.ts";
export * from "./ruleset.ts";
export * from "./visitor.ts";
