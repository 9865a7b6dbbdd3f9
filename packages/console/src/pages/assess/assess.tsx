// assess.tsx: shows what the newest ruleset decides about one visitor. A visitor that another page has handed over is
// assessed immediately.

import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Loaded } from "../../components/loaded.tsx";
import { useLoad } from "../../hooks.ts";
import { takeHandedOver } from "./visitor.ts";
import { AssessVisitor } from "./visitor-form.tsx";

/** Loads the facts that the newest ruleset declares. Without a ruleset, there are none. */
async function loadDeclared(signal: AbortSignal) {
  const { rulesets } = await call("GET rulesets", { limit: 1 }, signal);
  const [newest] = rulesets;
  if (newest === undefined) return {};
  const { text } = await call("GET rulesets/{id}", { id: String(newest.number) }, signal);
  return (await call("POST rulesets/check", { text }, signal)).facts;
}

export function AssessPage() {
  const loading = useLoad(loadDeclared, []);
  const [given] = useState(takeHandedOver);
  return <Loaded from={loading}>{(declared) => <AssessVisitor given={given} declared={declared} />}</Loaded>;
}
