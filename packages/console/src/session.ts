// session.ts: tells who is signed in, and what the session's token may do.

import { type AdminRole, hasRole } from "@inkling/contract";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { AdminSession } from "./answers.ts";

/** The current session; undefined on the login page. */
export const SessionContext = createContext<AdminSession | undefined>(undefined);

/**
 * Returns why the session may not do what needs a role; undefined if it may. Buttons are then disabled, with this text
 * as their title.
 */
export function useRefusal(needed: AdminRole): string | undefined {
  const role = useContext(SessionContext)?.role;
  if (role === undefined || hasRole(role, needed)) return undefined;
  return `This needs the role ${needed}; your admin token has the role ${role}.`;
}
