// channel-error.ts: errors that tell the operator why a channel cannot be followed or published to.

const COMPARE_KEYS =
  "compare `INKLING_CHANNEL_KEY` with what `inkling channel init FILE` prints for the existing key file";
const SEND_AGAIN =
  "run `inkling channel publish --again` on the host that published the release, which uploads the objects again and changes nothing else";

interface FaultRow {
  readonly happened: string;
  readonly fix: string;
}

/**
 * The kinds of faults, which are also label values in a metric. The table in docs/several-hosts.md, the hints of
 * commands and `inkling doctor` are made from these rows.
 */
export const CHANNEL_FAULTS = {
  unreachable: {
    happened: "the store is unreachable, slow or full, or a download was interrupted",
    fix: "wait: downloads continue where they stopped; if the fault lasts, check the network",
  },
  slow: {
    happened: "an object took longer than 10 minutes",
    fix: "check the store and the proxies in front of it; downloads continue where they stopped",
  },
  denied: {
    happened: "the credentials, the region or the bucket are wrong",
    fix: "correct the credentials, the region or the bucket; run `inkling channel status` to see which variable",
  },
  absent: {
    happened: "the channel does not exist",
    fix: "run `inkling channel publish` on the host that builds",
  },
  unsigned: { happened: "the channel is not signed: someone changed it", fix: COMPARE_KEYS },
  "other-key": {
    happened: "someone changed the channel, or signed it with a different key",
    fix: COMPARE_KEYS,
  },
  unreadable: {
    happened: "a newer version of Inkling wrote the channel, or `channel.json` in the data folder is damaged",
    fix: "update Inkling, or delete `channel.json` in the data folder",
  },
  replayed: {
    happened:
      "the store contains an older version of the channel, or the same version with different content",
    fix: "find out who writes to the store; `inkling channel publish` writes a higher version",
  },
  expired: {
    happened: "the channel was not renewed for seven days, or this host's clock is wrong",
    fix: "check the builder and the clock; `inkling channel publish` on the builder renews the channel",
  },
  "missing-object": { happened: "a manifest or segment is missing", fix: SEND_AGAIN },
  "wrong-object": {
    happened: "a manifest or segment differs from the signed one",
    fix: `find out who wrote to the store, then ${SEND_AGAIN}`,
  },
  unsound: {
    happened:
      "this host cannot open the release, or the release's manifest is wrong; the server applies no part of the release",
    fix: "update Inkling; if the manifest is wrong, publish another release or run `inkling channel rollback`",
  },
  "rolled-back": {
    happened: "`inkling channel publish` refused a release that was rolled back",
    fix: "run `inkling data update` to build a newer release; to publish the refused release anyway, use `--force`",
  },
  busy: {
    happened:
      "another publisher changed the channel at the same time, or a build is running in this data folder",
    fix: "repeat the command if it is still needed: servers and builders retry by themselves",
  },
  disk: {
    happened: "the disk is full, or the data folder is not writable",
    fix: "free some space (a release needs 180 MB), and check who owns the data folder",
  },
} as const satisfies Readonly<Record<string, FaultRow>>;
type ChannelFault = keyof typeof CHANNEL_FAULTS;
export const CHANNEL_FAULT_KINDS = Object.keys(CHANNEL_FAULTS) as [ChannelFault, ...ChannelFault[]];

export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly fault: ChannelFault;
  /** What to do in this case, if the remedy of the fault is not enough. */
  readonly hint: string | undefined;
  constructor(fault: ChannelFault, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
    this.hint = hint;
  }

  get remedy(): string {
    return this.hint ?? CHANNEL_FAULTS[this.fault].fix;
  }
}
