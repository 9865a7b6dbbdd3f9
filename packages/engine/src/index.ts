// @inkling/engine: segments in, answers out. Pure, synchronous, no I/O, no clock.

export * from "./address/ip.ts";
export * from "./address/special-use.ts";
export * from "./email/ascii.ts";
export * from "./email/domain.ts";
export { type EmailAddress, parseEmail } from "./email/email.ts";
export * from "./email/email-labels.ts";
export * from "./email/nearest.ts";
export * from "./lookup/answerer.ts";
export * from "./lookup/data-state.ts";
export * from "./lookup/email-labels.ts";
export { EvidenceAppender, evidenceTails } from "./lookup/evidence.ts";
export * from "./lookup/failure.ts";
export * from "./lookup/loaded-release.ts";
export type { EmailAnswer, Overridden } from "./lookup/overlay.ts";
export * from "./overrides/match.ts";
export * from "./overrides/model.ts";
export * from "./segment/answers.ts";
export * from "./segment/crc32.ts";
export * from "./segment/domain-table.ts";
export * from "./segment/email-segment.ts";
export * from "./segment/evidence.ts";
export * from "./segment/ip-segment.ts";
export * from "./segment/range-columns.ts";
export * from "./segment/ranges.ts";
export * from "./segment/release.ts";
export * from "./segment/segment.ts";
