// visitor.ts: a visitor as fields of a form and as a query: `ip=203.0.113.9&facts.plan=free`. The query is only in memory:
// browsers keep addresses of pages in their history, and this would put an email address there.

import type { FactType, VisitorInput } from "@inkling/contract";
import type { DeclaredFacts } from "@inkling/server/admin-answers";

const MEMBERS = ["event", "ip", "email", "user_agent", "expected_country"] as const;
export const DEFAULT_EVENT = "sign_up";

/** The field of a fact that the ruleset declares. */
export const fieldOf = (fact: string) => `facts.${fact}`;

const VALUES: Readonly<Record<FactType, (text: string) => unknown>> = {
  text: (text) => text,
  number: Number,
  boolean: (text) => text === "true",
  list: (text) => text.split(",").flatMap((item) => item.trim() || []),
};

/** The fields that were filled in. */
export function queryOf(values: FormData): URLSearchParams {
  const texts = [...values].map(([name, value]) => [name, String(value).trim()]);
  return new URLSearchParams(texts.filter(([, text]) => text !== ""));
}

let handedOver = new URLSearchParams();

/** Opens the page Assess with this visitor. */
export function assessVisitor(ipOrEmail: string): void {
  handedOver = new URLSearchParams({ [ipOrEmail.includes("@") ? "email" : "ip"]: ipOrEmail });
  location.hash = "#/assess";
}

/** The visitor that another page has handed over, once. */
export function takeHandedOver(): URLSearchParams {
  const visitor = handedOver;
  handedOver = new URLSearchParams();
  return visitor;
}

export const isVisitor = (query: URLSearchParams) => query.has("ip") || query.has("email");

/** The body of a request; the server checks it. */
export function visitorOf(query: URLSearchParams, declared: DeclaredFacts): VisitorInput {
  const members = MEMBERS.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : []));
  const facts = Object.entries(declared).flatMap(([name, type]) => {
    const text = query.get(fieldOf(name));
    return text === null ? [] : [[name, VALUES[type](text)]];
  });
  return {
    event: DEFAULT_EVENT,
    ...Object.fromEntries(members),
    ...(facts.length > 0 && { facts: Object.fromEntries(facts) }),
  };
}
