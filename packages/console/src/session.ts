// session.ts: tells who is signed in, and what the session's token may do.

import type { AdminSession } from "@inkling/server/admin-answers";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** The current session; undefined on the login page. */
export const SessionContext = createContext<AdminSession | undefined>(undefined);

/**
 * Returns why the session cannot change anything; undefined if it can. Buttons that change something are then disabled,
 * with this text as their title.
 */
export function useReadOnly(): string | undefined {
  return useContext(SessionContext)?.scope === "read"
    ? "Your admin token has the scope read, so it cannot change anything."
    : undefined;
}
