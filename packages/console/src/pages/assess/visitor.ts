// visitor.ts: converts a visitor between form fields and a query such as `ip=203.0.113.9&facts.plan=free`. The query is
// kept only in memory. In a page's address, the query would put an email address into the browser's history.

import type { FactType, VisitorInput } from "@inkling/contract";
import type { DeclaredFacts } from "../../answers.ts";

const FIELDS = ["event", "ip", "email", "user_agent", "expected_country"] as const;
export const DEFAULT_EVENT = "sign_up";

/** Returns the field name of a declared fact. */
export const fieldOf = (fact: string) => `facts.${fact}`;

const VALUES: Readonly<Record<FactType, (text: string) => unknown>> = {
  text: (text) => text,
  number: Number,
  boolean: (text) => text === "true",
  list: (text) => text.split(",").flatMap((item) => item.trim() || []),
};

/** Returns the fields that were filled in, as a query. */
export function queryOf(values: FormData): URLSearchParams {
  const texts = [...values].map(([name, value]) => [name, String(value).trim()]);
  return new URLSearchParams(texts.filter(([, text]) => text !== ""));
}

let handedOver = new URLSearchParams();

/** Opens the Assess page with this visitor. */
export function assessVisitor(ipOrEmail: string): void {
  handedOver = new URLSearchParams({ [ipOrEmail.includes("@") ? "email" : "ip"]: ipOrEmail });
  location.hash = "#/assess";
}

/** Returns the visitor that another page has handed over, but only once. */
export function takeHandedOver(): URLSearchParams {
  const visitor = handedOver;
  handedOver = new URLSearchParams();
  return visitor;
}

export const isVisitor = (query: URLSearchParams) => query.has("ip") || query.has("email");

/** Returns the request body. The server validates it. */
export function visitorOf(query: URLSearchParams, declared: DeclaredFacts): VisitorInput {
  const fields = FIELDS.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : []));
  const facts = Object.entries(declared).flatMap(([name, type]) => {
    const text = query.get(fieldOf(name));
    return text === null ? [] : [[name, VALUES[type](text)]];
  });
  return {
    event: DEFAULT_EVENT,
    ...Object.fromEntries(fields),
    ...(facts.length > 0 && { facts: Object.fromEntries(facts) }),
  };
}
