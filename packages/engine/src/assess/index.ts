// @inkling/engine/assess: facts and a ruleset in, an action with its reasons out. Its own entry point, because the
// parser of conditions and zod take tens of milliseconds to load, and a lookup needs neither.

export * from "./answer.ts";
export * from "./assess.ts";
export { type Condition, ConditionError, compileCondition, MAX_CONDITION } from "./condition.ts";
export * from "./domains-today.ts";
export * from "./facts.ts";
export * from "./replay.ts";
export * from "./ruleset.ts";
export * from "./visitor.ts";
