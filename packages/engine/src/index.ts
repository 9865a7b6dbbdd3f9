// @inkling/engine: segments in, answers out. Pure, synchronous, no I/O, no clock.

export * from "./answers.ts";
export * from "./ascii.ts";
export * from "./crc32.ts";
export * from "./domain.ts";
export * from "./domain-table.ts";
export { type EmailAddress, parseEmail } from "./email.ts";
export * from "./email-labels.ts";
export * from "./email-segment.ts";
export * from "./evidence.ts";
export * from "./ip.ts";
export * from "./ip-segment.ts";
export * from "./nearest.ts";
export * from "./ranges.ts";
export * from "./release.ts";
export * from "./segment.ts";
export * from "./special-use.ts";
