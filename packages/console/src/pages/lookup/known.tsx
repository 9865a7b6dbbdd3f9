// known.tsx: shows what this server remembers about a value: stored decisions, and changes in the audit trail.

import type { Answer } from "../../answers.ts";
import { ResourceList } from "../../components/resource.tsx";
import { AUDIT_COLUMNS } from "../audit.tsx";
import { DECISION_COLUMNS } from "../decisions/columns.tsx";

/** Number of decisions and of changes to show at first. */
const FIRST = 5;

/** A filter of decisions, and its value. */
type Filter = readonly [
  name: "account" | "domain" | "mailbox" | "network" | "ref" | "request",
  value: string,
];

/** Returns the filters for decisions about a value; none if decisions do not store what they would match. */
function filtersOf(answer: Answer): readonly Filter[] {
  if (answer.kind === "as") return [];
  if ("email" in answer) {
    const domain = answer.value.slice(answer.value.lastIndexOf("@") + 1).toLowerCase();
    return [...(answer.kind === "email" ? [["mailbox", answer.value] as const] : []), ["domain", domain]];
  }
  if (answer.kind === "network")
    return /:.*\/48$|^[^:]*\/24$/.test(answer.network) ? [["network", answer.network]] : [];
  if (answer.kind === "address") return [["network", answer.address ?? answer.value]];
  return [
    ["ref", answer.value.slice(0, 128)],
    ["request", answer.value.slice(0, 64)],
    ["account", answer.value.slice(0, 128)],
  ];
}

/** What a reader has to know about the decisions that a filter finds. */
const SCOPES: Readonly<Partial<Record<Filter[0], string>>> = {
  network: "Decisions store only the /24 or /48, so some of these may be about other addresses in it.",
  domain: "Some of these may be about other mailboxes of the domain.",
};

export function Known({ answer }: { answer: Answer }) {
  const subject = answer.value.slice(0, 200);
  return (
    <>
      {filtersOf(answer).map(([name, value], i) => {
        const caption = `Decisions with ${name} ${value}`;
        return (
          <ResourceList
            key={name}
            route="GET decisions"
            input={{ [name]: value }}
            caption={caption}
            title={<a href={`#/decisions?${new URLSearchParams({ [name]: value })}`}>{caption}</a>}
            first={FIRST}
            empty={i > 0 ? "" : "No decisions are stored."}
            isOptional={i > 0}
            isOneLine
            columns={DECISION_COLUMNS}
            note={() => SCOPES[name] ?? ""}
          />
        );
      })}
      <ResourceList
        route="GET audit"
        input={{ subject }}
        caption="Changes"
        title={<a href={`#/audit?${new URLSearchParams({ subject })}`}>Changes</a>}
        first={FIRST}
        empty=""
        isOptional
        columns={AUDIT_COLUMNS}
      />
    </>
  );
}
