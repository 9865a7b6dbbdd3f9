// answers.ts: names types of the admin API's answers, inferred from the schemas of its operations.

import type { Api } from "@inkling/operations";
import type { ValueProblem } from "@inkling/operations/answer-schemas";

export type {
  EmailVerdict,
  EvidenceEntry as Evidence,
  Geolocation,
  Reputation,
  ReputationFlag as Flag,
} from "@inkling/contract";
export type { AdminSession, ValueProblem } from "@inkling/operations/answer-schemas";
export type Lookup = Api["POST lookup"]["output"];
export type Answer = Lookup["answers"][number];
export type EmailAnswer = Extract<Answer, { email: unknown }>;
export type NetworkAnswer = Extract<Answer, { kind: "network" }>;
export type SystemAnswer = Extract<Answer, { kind: "as" }>;
export type IpAnswer = Exclude<Answer, EmailAnswer | NetworkAnswer | SystemAnswer>;
export type NetworkSummary = Exclude<NetworkAnswer["summary"], ValueProblem>;
export type History = Api["POST lookup/history"]["output"];

export type DataOverview = Api["GET data"]["output"];
export type DataAge = DataOverview["ages"][number];
export type Update = Api["GET data/update"]["output"];
export type Feed = Api["GET data/feeds"]["output"]["feeds"][number];
export type UnusedFeed = Api["GET data/feeds"]["output"]["unused"][number];
export type Release = Api["GET data/releases"]["output"]["releases"][number];
export type ReleaseChanges = NonNullable<Api["GET data/releases/{id}/changes"]["output"]["changes"]>;

export type UsedKey = Api["GET keys/{id}"]["output"];
export type ListedKey = Api["GET keys"]["output"]["keys"][number];
export type UsagePoint = Api["GET keys/{id}/usage"]["output"]["usage"][number];
export type Refusals = UsagePoint["refused"];

export type Override = Api["GET overrides/{id}"]["output"];
export type AuditEntry = Api["GET audit"]["output"]["entries"][number];

export type Ruleset = Api["GET rulesets/{id}"]["output"];
export type RulesetCheck = Api["POST rulesets/check"]["output"];
/** The facts that callers may send in `facts` under this ruleset, by name. */
export type DeclaredFacts = RulesetCheck["facts"];
export type AssessedVisitor = Api["POST assess"]["output"];
export type Decision = Api["GET decisions"]["output"]["decisions"][number];
export type ExplainedDecision = Api["GET decisions/{id}"]["output"];
export type Queue = Api["GET decisions/review"]["output"];
export type Calibration = Api["GET decisions/calibration"]["output"];
export type OutcomeProblem = Api["POST decisions/outcomes"]["output"]["problems"][number];
export type DecisionCounts = Api["GET decisions/counts"]["output"];
export type Replayed = Api["POST rulesets/replay"]["output"];
export type Webhook = Api["GET webhooks/{id}"]["output"];
export type Delivery = Api["GET webhooks/{id}/deliveries"]["output"]["deliveries"][number];

export type Traffic = Api["GET traffic"]["output"];
export type TrafficPoint = Traffic["series"][number];
export type Hosts = Api["GET hosts"]["output"];
export type Host = Hosts["hosts"][number];
export type CountryCount = Traffic["total"]["countries"][number];
