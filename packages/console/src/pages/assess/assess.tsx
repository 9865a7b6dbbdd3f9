// assess.tsx: what the newest ruleset decides about one visitor. `#/assess?ip=…&email=…` assesses at once.

import type { ListedRuleset, Ruleset, RulesetCheck } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";
import { Loaded } from "../../components/loaded.tsx";
import { type PageProps, useLoad } from "../../hooks.ts";
import { AssessVisitor } from "./visitor-form.tsx";

/** The facts that the newest ruleset declares; none before the first. */
async function loadDeclared(signal: AbortSignal) {
  const { rulesets } = await api<{ rulesets: ListedRuleset[] }>("rulesets?limit=1", { signal });
  const [newest] = rulesets;
  if (newest === undefined) return {};
  const { text } = await api<Ruleset>(`rulesets/${newest.number}`, { signal });
  return (await api<RulesetCheck>("rulesets/check", { method: "POST", body: { text }, signal })).facts;
}

/** The address names the visitor: it can be copied, and survives a reload. */
const follow = (query: URLSearchParams) => history.replaceState(null, "", `#/assess?${query}`);

export function AssessPage({ rest }: PageProps) {
  const loading = useLoad(loadDeclared, []);
  return (
    <Loaded from={loading}>
      {(declared) => <AssessVisitor given={rest} declared={declared} onAsk={follow} />}
    </Loaded>
  );
}
