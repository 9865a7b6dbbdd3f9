// known.tsx: shows what this server remembers about a value: stored decisions, and changes in the audit trail.

import type { Answer } from "../../answers.ts";
import { call } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatExact } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import { ActionBadge } from "../assess/decision.tsx";

/** Number of decisions and of changes to show. Links lead to the others. */
const SHOWN = 5;

/** A filter of decisions, and its value. */
type Filter = readonly [name: "domain" | "network" | "ref" | "request", value: string];

/** Returns the filters for decisions about a value; none if decisions do not store what they would match. */
function filtersOf(answer: Answer): readonly Filter[] {
  if (answer.kind === "as") return [];
  if ("email" in answer)
    return [["domain", answer.value.slice(answer.value.lastIndexOf("@") + 1).toLowerCase()]];
  if (answer.kind === "network")
    return /:.*\/48$|^[^:]*\/24$/.test(answer.network) ? [["network", answer.network]] : [];
  if (answer.kind === "address") return [["network", answer.address ?? answer.value]];
  return [
    ["ref", answer.value.slice(0, 128)],
    ["request", answer.value.slice(0, 64)],
  ];
}

/** Returns what a reader has to know about the decisions of a value; undefined if they are about that value. */
function scopeOf({ kind }: Answer): string | undefined {
  if (kind === "address") return "Decisions store only the /24 or /48, so these may be about its neighbours.";
  if (kind === "email") return "Decisions store only the domain, so these may be about other mailboxes.";
  return undefined;
}

export function KnownCard({ answer }: { answer: Answer }) {
  const filters = filtersOf(answer);
  const subject = answer.value.slice(0, 200);
  const load = async (signal: AbortSignal) => {
    const find = async ([name, value]: Filter) => {
      const { decisions } = await call("GET decisions", { [name]: value, limit: SHOWN }, signal);
      return { name, value, decisions };
    };
    const [found, { entries }] = await Promise.all([
      Promise.all(filters.map(find)),
      call("GET audit", { subject, limit: SHOWN }, signal),
    ]);
    return { found: found.filter(({ decisions }, i) => i === 0 || decisions.length > 0), entries };
  };
  const loading = useLoad(load, [answer]);
  const scope = scopeOf(answer);
  return (
    <Card isWide title="Known here">
      <Loaded from={loading}>
        {({ found, entries }) => (
          <>
            {filters.length === 0 && (
              <p class="faint">Decisions store only a /24 or a /48: look up one of those.</p>
            )}
            {found.map(({ name, value, decisions }) => (
              <div key={name}>
                <h3>{`Decisions by ${name} ${value}`}</h3>
                {scope && <p class="faint">{scope}</p>}
                {decisions.length === 0 && <p class="faint">No decisions are stored.</p>}
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
