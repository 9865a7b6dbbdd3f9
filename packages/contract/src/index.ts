// The rows that several packages must agree on. This package imports nothing, and a row never refers to a place by
// position or count.

export * from "./flags.ts";
export * from "./members.ts";
export * from "./problems.ts";
export * from "./settings.ts";
export * from "./shapes.ts";
