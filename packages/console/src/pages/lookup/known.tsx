// known.tsx: shows what this server remembers about a value: stored decisions, and changes in the audit trail.

import type { Answer } from "../../answers.ts";
import { ApiError, call } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatExact } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import { ActionBadge } from "../assess/decision.tsx";

/** Number of decisions and of changes to show. Links lead to the others. */
const SHOWN = 5;

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

export function KnownCard({ answer }: { answer: Answer }) {
  const filters = filtersOf(answer);
  const subject = answer.value.slice(0, 200);
  const load = async (signal: AbortSignal) => {
    const find = async ([name, value]: Filter) => {
      // This server may lack the key of hashes, which only two of the filters need.
      const { decisions, problem } = await call(
        "GET decisions",
        { [name]: value, limit: SHOWN },
        signal,
      ).then(
        (page) => ({ ...page, problem: undefined }),
        (error: unknown) => {
          if (!(error instanceof ApiError && error.code === "PARAMETER_INVALID")) throw error;
          return { decisions: [], problem: error.message };
        },
      );
      return { name, value, decisions, problem };
    };
    const [found, { entries }] = await Promise.all([
      Promise.all(filters.map(find)),
      call("GET audit", { subject, limit: SHOWN }, signal),
    ]);
    return {
      found: found.filter(({ decisions, problem }, i) => i === 0 || decisions.length > 0 || problem),
      entries,
    };
  };
  const loading = useLoad(load, [answer]);
  return (
    <Card isWide title="Known here">
      <Loaded from={loading}>
        {({ found, entries }) => (
          <>
            {filters.length === 0 && (
              <p class="faint">Decisions store only a /24 or a /48: look up one of those.</p>
            )}
            {found.map(({ name, value, decisions, problem }) => (
              <div key={name}>
                <h3>{`Decisions by ${name} ${value}`}</h3>
                {SCOPES[name] && <p class="faint">{SCOPES[name]}</p>}
                {decisions.length === 0 && <p class="faint">{problem ?? "No decisions are stored."}</p>}
                <ul>
                  {decisions.map(({ id, at, action, event }) => (
                    <li key={id}>
                      <a href={`#/decisions/${id}`}>{formatExact(at)}</a> {event}{" "}
                      <ActionBadge action={action} />
                    </li>
                  ))}
                </ul>
                {decisions.length > 0 && (
                  <p>
                    <a href={`#/decisions?${new URLSearchParams({ [name]: value })}`}>All these decisions</a>
                  </p>
                )}
              </div>
            ))}
            <h3>Changes</h3>
            {entries.length === 0 && <p class="faint">The audit trail has no changes to this value.</p>}
            <ul>
              {entries.map(({ sequence, at, author, action }) => (
                <li key={sequence}>
                  {formatExact(at)} {author} {action.replaceAll("-", " ")}
                </li>
              ))}
            </ul>
            {entries.length > 0 && (
              <p>
                <a href={`#/audit?${new URLSearchParams({ subject })}`}>All these changes</a>
              </p>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}
