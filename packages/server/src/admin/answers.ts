// answers.ts: types of the admin API's answers, inferred from the schemas of its operations. The console imports them.

import type { Api } from "@inkling/operations";
import type { z } from "zod";
import type * as schemas from "../lookup/answer-schemas.ts";
import type { visitorAnswer } from "./assess.ts";
import type { changesAnswer, dataAnswer, feedsAnswer, releasesAnswer } from "./data.ts";
import type { updateState } from "./data-actions.ts";
import type { sessionAnswer } from "./login.ts";
import type { historyAnswer, lookupAnswer } from "./lookup.ts";

export type {
  EmailVerdict,
  EvidenceEntry as Evidence,
  Geolocation,
  Reputation,
  ReputationFlag as Flag,
} from "@inkling/contract";
/** The problem that replaces an answer if the lookup failed. */
export type ValueProblem = z.output<typeof schemas.valueProblem>;
export type Lookup = z.output<typeof lookupAnswer>;
export type Answer = Lookup["answers"][number];
export type EmailAnswer = Extract<Answer, { email: unknown }>;
export type NetworkAnswer = Extract<Answer, { kind: "network" }>;
export type SystemAnswer = Extract<Answer, { kind: "as" }>;
export type IpAnswer = Exclude<Answer, EmailAnswer | NetworkAnswer | SystemAnswer>;
export type NetworkSummary = Exclude<NetworkAnswer["summary"], ValueProblem>;
export type History = z.output<typeof historyAnswer>;

export type DataOverview = z.output<typeof dataAnswer>;
export type DataAge = DataOverview["ages"][number];
export type Update = z.output<typeof updateState>;
export type Feed = z.output<typeof feedsAnswer>["feeds"][number];
export type UnusedFeed = z.output<typeof feedsAnswer>["unused"][number];
export type Release = z.output<typeof releasesAnswer>["releases"][number];
export type ReleaseChanges = NonNullable<z.output<typeof changesAnswer>["changes"]>;

export type Key = Api["PATCH keys/{id}"]["output"];
export type UsedKey = Api["GET keys/{id}"]["output"];
export type ListedKey = Api["GET keys"]["output"]["keys"][number];
export type Usage = Api["GET keys/{id}/usage"]["output"];
export type UsagePoint = Usage["usage"][number];
export type Refusals = UsagePoint["refused"];

export type AdminSession = z.output<typeof sessionAnswer>;

export type Override = Api["GET overrides/{id}"]["output"];
export type Imported = Api["POST overrides/import"]["output"];
export type AuditEntry = Api["GET audit"]["output"]["entries"][number];

export type Ruleset = Api["GET rulesets/{id}"]["output"];
export type RulesetCheck = Api["POST rulesets/check"]["output"];
/** The facts that callers may send in `facts` under this ruleset, by name. */
export type DeclaredFacts = RulesetCheck["facts"];
export type AssessedVisitor = z.output<typeof visitorAnswer>;
export type Decision = Api["GET decisions/{id}"]["output"];
export type DecisionCounts = Api["GET decisions/counts"]["output"];
export type Replayed = Api["POST rulesets/replay"]["output"];
export type Webhook = Api["GET webhooks/{id}"]["output"];
export type Delivery = Api["GET webhooks/{id}/deliveries"]["output"]["deliveries"][number];

export type Traffic = Api["GET traffic"]["output"];
export type TrafficPoint = Traffic["series"][number];
export type Hosts = Api["GET hosts"]["output"];
export type Host = Hosts["hosts"][number];
export type CountryCount = Traffic["total"]["countries"][number];
