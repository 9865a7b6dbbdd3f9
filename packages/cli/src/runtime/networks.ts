// networks.ts: reports on a network or an AS, without a server: shares by flag and country, feeds, owners, and parts.
//
// Cost: for an AS, one pass over the network segment: half a second.

import { type AnswerSource, formatPrefix, type Prefix } from "@inkling/engine";
import {
  type NetworksReport,
  reportOfSystem as reportOf,
  reportOfNetworks,
  type SystemReport,
} from "@inkling/server/network-sources";
import { networkUse } from "@inkling/server/network-summary";
import { finish } from "@inkling/server/turns";
import { CliError, EXIT } from "../terminal/errors.ts";
import { type AnswerData, reserved } from "./answer.ts";

/** Maximum number of parts that are examined for one value. Examining them takes about a second. */
const MAX_PARTS = 1 << 18;

/** @throws Refused for a special-use network */
export function reportOfNetwork(network: Prefix, data: AnswerData, now: number): NetworksReport {
  const use = networkUse(network);
  if (use !== undefined) throw reserved(formatPrefix(network), network.address, use);
  return finish(reportOfNetworks([network], sourceOf(data, now), MAX_PARTS));
}

/** @throws CliError if the release has no network data, or no data about the AS */
export function reportOfSystem(asn: number, data: AnswerData, now: number): SystemReport {
  if (data.release.network === undefined)
    throw new CliError("the release has no data about networks", "`inkling doctor` shows why");
  const found = finish(reportOf(asn, sourceOf(data, now), MAX_PARTS));
  if (found !== undefined) return found;
  throw new CliError(
    `no network of AS${asn} is known`,
    "the AS announces nothing, or the release has no data about it",
    EXIT.error,
  );
}

const sourceOf = ({ release, overrides }: AnswerData, now: number): AnswerSource => ({
  release,
  overrides,
  now,
  allowMissing: true,
});
