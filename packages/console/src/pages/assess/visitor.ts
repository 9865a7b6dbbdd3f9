// visitor.ts: turns form fields into a visitor. The fields are kept only in memory. In a page's address, they would put an
// email address into the browser's history.

import type { FactType, VisitorInput } from "@inkling/contract";
import type { DeclaredFacts } from "../../answers.ts";

export const DEFAULT_EVENT = "sign_up";

/** Returns the field name of a declared fact. */
export const fieldOf = (fact: string) => `facts.${fact}`;

const VALUES: Readonly<Record<FactType, (text: string) => unknown>> = {
  text: (text) => text,
  number: Number,
  boolean: (text) => text === "true",
  list: (text) => text.split(",").flatMap((item) => item.trim() || []),
};

/** The form's fields that are filled in, by their names. */
export type Filled = Readonly<Record<string, string>>;

export const filledIn = (values: FormData): Filled =>
  Object.fromEntries(
    [...values].map(([name, value]) => [name, String(value).trim()]).filter(([, text]) => text !== ""),
  );

let handedOver: Filled = {};

/** Opens the Assess page with this visitor. */
export function assessVisitor(ipOrEmail: string): void {
  handedOver = { [ipOrEmail.includes("@") ? "email" : "ip"]: ipOrEmail };
  location.hash = "#/assess";
}

/** Returns the visitor that another page has handed over, but only once. */
export function takeHandedOver(): Filled {
  const visitor = handedOver;
  handedOver = {};
  return visitor;
}

export const isVisitor = ({ ip, email }: Filled) => ip !== undefined || email !== undefined;

/** Returns the request body. The server validates it. */
export function visitorOf(filled: Filled, declared: DeclaredFacts): VisitorInput {
  const fields = Object.entries(filled).filter(([name]) => !name.startsWith(fieldOf("")));
  const facts = Object.entries(declared).flatMap(([name, type]) => {
    const text = filled[fieldOf(name)];
    return text === undefined ? [] : [[name, VALUES[type](text)]];
  });
  return {
    event: DEFAULT_EVENT,
    ...Object.fromEntries(fields),
    ...(facts.length > 0 && { facts: Object.fromEntries(facts) }),
  };
}
