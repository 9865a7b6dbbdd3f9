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

/** Returns the filter for decisions about a value; undefined if decisions do not store what it would match. */
function filterOf(answer: Answer): Record<string, string> | undefined {
  if (answer.kind === "as") return undefined;
  if ("email" in answer)
    return { domain: answer.value.slice(answer.value.lastIndexOf("@") + 1).toLowerCase() };
  if (answer.kind === "network")
    return /:.*\/48$|^[^:]*\/24$/.test(answer.network) ? { network: answer.network } : undefined;
  if (answer.kind === "address") return { network: answer.address ?? answer.value };
  return { ref: answer.value.slice(0, 128) };
}

/** Returns what a reader has to know about the decisions of a value; undefined if they are about that value. */
function scopeOf({ kind }: Answer): string | undefined {
  if (kind === "address") return "Decisions store only the /24 or /48, so these may be about its neighbours.";
  if (kind === "email") return "Decisions store only the domain, so these may be about other mailboxes.";
  return undefined;
}

export function KnownCard({ answer }: { answer: Answer }) {
  const filter = filterOf(answer);
  const subject = answer.value.slice(0, 200);
  const load = async (signal: AbortSignal) => {
    const [found, audit] = await Promise.all([
      filter && call("GET decisions", { ...filter, limit: SHOWN }, signal),
      call("GET audit", { subject, limit: SHOWN }, signal),
    ]);
    return { decisions: found?.decisions ?? [], entries: audit.entries };
  };
  const loading = useLoad(load, [answer]);
  const scope = scopeOf(answer);
  const [[name, value] = ["", ""]] = Object.entries(filter ?? {});
  return (
    <Card isWide title="Known here">
      <Loaded from={loading}>
        {({ decisions, entries }) => (
          <>
            <h3>{filter ? `Decisions by ${name} ${value}` : "Decisions"}</h3>
            {!filter && <p class="faint">Decisions store only a /24 or a /48: look up one of those.</p>}
            {scope && <p class="faint">{scope}</p>}
            {filter && decisions.length === 0 && <p class="faint">No decisions are stored.</p>}
            <ul>
              {decisions.map(({ id, at, action, event }) => (
                <li key={id}>
                  <a href={`#/decisions/${id}`}>{formatExact(at)}</a> {event} <ActionBadge action={action} />
                </li>
              ))}
            </ul>
            {decisions.length > 0 && (
              <p>
                <a href={`#/decisions?${new URLSearchParams(filter)}`}>All these decisions</a>
              </p>
            )}
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
