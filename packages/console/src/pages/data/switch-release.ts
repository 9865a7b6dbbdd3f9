// switch-release.ts: puts another release in use, or pins and unpins.

import { ApiError, api } from "../../api.ts";
import { notify } from "../../hooks.ts";

/** @throws {ApiError} */
export type SwitchRelease = (method: "POST" | "DELETE", path: string, body?: unknown) => Promise<void>;

/** What the page shows is no longer true. */
const OUTDATED = ["STALE_FORM", "RELEASE_NOT_FOUND"];

export function makeSwitchRelease(reload: () => void): SwitchRelease {
  return async (method, path, body) => {
    try {
      const { to } = await api<{ to: string }>(path, { method, body });
      notify(`In use: ${to}`);
      reload();
    } catch (error) {
      if (error instanceof ApiError && OUTDATED.includes(error.code ?? "")) reload();
      throw error;
    }
  };
}
