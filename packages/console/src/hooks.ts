// hooks.ts: the route, loaded data, actions and messages.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAbort, UserError } from "./api.ts";

export type MessageKind = "good" | "bad";
export const MESSAGE = "inkling:message";

/** Shows a message at the bottom of the window, and announces it to screen readers. */
export function notify(text: string, kind: MessageKind = "good"): void {
  dispatchEvent(new CustomEvent(MESSAGE, { detail: { text, kind } }));
}

/** The error's message; errors of our own code also go to the browser's console. */
export function messageOf(error: unknown): string {
  if (!(error instanceof UserError)) reportError(error);
  return error instanceof Error ? error.message : String(error);
}

export interface Route {
  /** "lookup" */
  readonly page: string;
  /** What follows the page's name, decoded. */
  readonly rest: string;
}

function currentRoute(): Route {
  const [, page = "lookup", rest = ""] = /^#\/(\w+)\/?(.*)$/.exec(location.hash) ?? [];
  try {
    return { page, rest: decodeURIComponent(rest) };
  } catch {
    return { page, rest }; // not percent-encoded
  }
}

export interface PageProps {
  /** What follows the page's name in the address. */
  readonly rest: string;
  /** Call it when another release is in use. */
  readonly onRelease: () => void;
}

/** "#/lookup/8.8.8.8" as a route, followed. */
export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const follow = () => setRoute(currentRoute());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

export interface Loading<T> {
  /** Kept while it is loaded again. */
  readonly data: T | undefined;
  /** Why the last load failed. */
  readonly error: unknown;
  readonly reload: () => void;
}

/** Loads when the component appears and when `inputs` change; aborts what is no longer needed. */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): Loading<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown }>({});
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    load(signal).then(
      (data) => signal.aborted || setState({ data }),
      (error: unknown) => signal.aborted || setState((old) => ({ ...old, error })),
    );
    return () => leaving.abort();
  }, [round, ...inputs]);
  return { data: state.data, error: state.error, reload };
}

const showError = (text: string) => notify(text, "bad");

/**
 * One action at a time: a second start while the first runs is ignored.
 * @param onError gets the message of a failure
 */
export function useAction(onError = showError): readonly [(action: () => Promise<void>) => void, boolean] {
  const [isBusy, setBusy] = useState(false);
  const running = useRef(false);
  const run = async (action: () => Promise<void>) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    try {
      await action();
    } catch (error) {
      if (!isAbort(error)) onError(messageOf(error));
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return [run, isBusy];
}
