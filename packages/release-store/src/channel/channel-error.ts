// channel-error.ts: errors that tell the operator why a channel cannot be followed or published to.

/** The kinds of faults, which are also label values in a metric. docs/cluster-failures.md has a row for each. */
export const CHANNEL_FAULTS = [
  "unreachable",
  "slow",
  "denied",
  "absent",
  "unsigned",
  "other-key",
  "unreadable",
  "replayed",
  "expired",
  "missing-object",
  "wrong-object",
  "unsound",
  "rolled-back",
  "busy",
  "disk",
] as const;
export type ChannelFault = (typeof CHANNEL_FAULTS)[number];

export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly fault: ChannelFault;
  readonly hint: string | undefined;
  constructor(fault: ChannelFault, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
    this.hint = hint;
  }
}

/** A publisher was stopped before it changed the channel. */
export class PublishStopped extends Error {
  override readonly name = "PublishStopped";
}
