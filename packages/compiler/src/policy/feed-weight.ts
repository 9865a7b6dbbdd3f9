// feed-weight.ts: determines the weight of a feed's claims, which matters if lists have to agree or if they disagree
// (docs/policy.md, docs/mail-policy.md).

import { LABEL_ROWS } from "@inkling/contract";
import type { Feed } from "../catalog/feed.ts";
import { weightOf } from "./domain-weights.ts";
import { weightOfList } from "./labels.ts";

/** @returns undefined for a feed whose claims set no flag */
export function feedWeight({ id, label, sets, weight }: Feed): number | undefined {
  if (sets === "disposable") return weightOf(id, weight);
  if (label === undefined || label === "unknown" || LABEL_ROWS[label].sets === undefined) return undefined;
  return weight ?? weightOfList(id);
}
