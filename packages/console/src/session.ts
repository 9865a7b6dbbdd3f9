// session.ts: who is signed in, and what the token of the session may do.

import type { AdminSession } from "@inkling/server/admin-answers";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** Undefined on the login page. */
export const SessionContext = createContext<AdminSession | undefined>(undefined);

/** Why the session cannot change anything; undefined if it can. Buttons that change something are disabled with it. */
export function useReadOnly(): string | undefined {
  return useContext(SessionContext)?.scope === "read"
    ? "Your admin token has the scope read: it changes nothing."
    : undefined;
}
