// @inkling/client/support: code that @inkling/local shares with this client, so that both return the same answers and
// errors.

export { checkVisitor } from "./assess.ts";
export { inGroups } from "./batch.ts";
export { requireText } from "./client.ts";
export { readDataState, requireData, withData } from "./data-state.ts";
export { type Problem, problemError } from "./errors.ts";
export { DATA_OF } from "./generated.ts";
export { checkExtras, readNumber, readRequire, refuseUnknown, wrong } from "./options.ts";
export { ON_UNAVAILABLE, settle } from "./unavailable.ts";
