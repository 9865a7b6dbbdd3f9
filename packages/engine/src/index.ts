// @inkling/engine: takes segments and returns answers. It is pure and synchronous, and it uses neither I/O nor a clock.

export * from "./address/ip.ts";
export * from "./address/packed.ts";
export * from "./email/ascii.ts";
export * from "./email/domain.ts";
export { parseEmail } from "./email/email.ts";
export * from "./email/email-labels.ts";
export * from "./email/mail-hosts.ts";
export * from "./email/mailbox.ts";
export * from "./lookup/address-block.ts";
export * from "./lookup/answerer.ts";
export * from "./lookup/data-state.ts";
export * from "./lookup/failure.ts";
export * from "./lookup/geoip2.ts";
export {
  evidenceTails,
  INCLUDE,
  labelEntries,
  networkText,
  OptIns,
  visitorNetwork,
  visitorNetworkOf,
} from "./lookup/opt-ins.ts";
export type { Overridden } from "./lookup/overlay.ts";
export * from "./overrides/compiled.ts";
export * from "./overrides/model.ts";
export * from "./overrides/reputation-flags.ts";
export * from "./segment/answers.ts";
export * from "./segment/domain-table.ts";
export * from "./segment/email-segment.ts";
export * from "./segment/evidence.ts";
export * from "./segment/ip-segment.ts";
export * from "./segment/prefix-table.ts";
export * from "./segment/range-columns.ts";
export { BITMAP_WORDS, LIST_FLAG, MAX_LIST_RUNS, NODE_FLAG } from "./segment/range-nodes.ts";
export * from "./segment/ranges.ts";
export * from "./segment/release.ts";
export * from "./segment/segment.ts";
export * from "./text/base62.ts";
export * from "./text/countries.ts";
export * from "./text/issues.ts";
export * from "./text/times.ts";
