// hooks.ts: provides hooks for the route, loaded data, actions and messages.

import { createContext } from "preact";
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isAbort, UserError } from "./api.ts";

/** Listens on `window` while the component exists, from its first frame on. */
export function useWindowEvent(name: string, listener: (event: Event) => void): void {
  useLayoutEffect(() => {
    addEventListener(name, listener);
    return () => removeEventListener(name, listener);
  }, []);
}

export interface Message {
  readonly text: string;
  readonly kind: "good" | "bad";
}
export const MESSAGE = "inkling:message";

/** Shows a message at the bottom of the window, and announces it to screen readers. */
export const notify = (text: string, kind: Message["kind"] = "good") =>
  dispatchEvent(new CustomEvent<Message>(MESSAGE, { detail: { text, kind } }));

/** Returns the error's message. Errors other than UserError also go to the browser's console. */
export function messageOf(error: unknown): string {
  if (!(error instanceof UserError)) reportError(error);
  return error instanceof Error ? error.message : String(error);
}

export interface PageProps {
  /**
   * The decoded part of the address after the page's name. A query remains encoded. `rest` may change while the page is
   * open, so a component that belongs to one address needs `rest` as its key.
   */
  readonly rest: string;
}

function currentRoute() {
  if (/^(#\/)?$/.test(location.hash)) return { page: "start", rest: "" };
  const [, page = "", rest = ""] = /^#\/([^/?]*)\/?(.*)$/.exec(location.hash) ?? [];
  if (rest.startsWith("?")) return { page, rest }; // its values are decoded after they are split
  try {
    return { page, rest: decodeURIComponent(rest) };
  } catch {
    return { page, rest }; // not percent-encoded
  }
}

/**
 * Returns the current route: "#/lookup/8.8.8.8" is the page "lookup" and the rest "8.8.8.8". Updates when the address
 * changes.
 */
export function useRoute() {
  const [route, setRoute] = useState(currentRoute);
  useWindowEvent("hashchange", () => setRoute(currentRoute()));
  return route;
}

export const ObjectNameContext = createContext<(name: string) => void>(() => {});

/** Makes the name of the object that a page shows its heading and the tab's title. */
export function useObjectName(name: string | undefined): void {
  const setName = useContext(ObjectNameContext);
  useEffect(() => {
    if (name !== undefined) setName(name);
  }, [name, setName]);
}

export interface Loading<T> {
  /** Kept during a reload. */
  readonly data: T | undefined;
  /** Why the last load failed. */
  readonly error: unknown;
  readonly reload: () => void;
  /** Stops the load. What it has shown so far remains. */
  readonly cancel: () => void;
}

/**
 * Loads when the component appears and when `inputs` change. Aborts loads that are no longer needed.
 * @param load may `show` a part of the data before it returns all
 * @param everyMs pause in milliseconds between the end of a load and the next load, which waits until the tab is visible
 */
export function useLoad<T>(
  load: (signal: AbortSignal, show: (part: T) => void) => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
): Loading<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown }>({});
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const running = useRef<AbortController>(null);
  const cancel = useCallback(() => {
    running.current?.abort();
    setState((old) => ({ ...old, error: new UserError("Cancelled.") }));
  }, []);
  useEffect(() => {
    const leaving = new AbortController();
    running.current = leaving;
    const { signal } = leaving;
    let timer: ReturnType<typeof setTimeout> | undefined;
    load(signal, (data) => signal.aborted || setState({ data }))
      .then(
        (data) => signal.aborted || setState({ data }),
        (error: unknown) => signal.aborted || setState((old) => ({ ...old, error })),
      )
      .then(() => {
        if (everyMs === undefined || signal.aborted) return;
        timer = setTimeout(() => {
          if (document.hidden) document.addEventListener("visibilitychange", reload, { once: true, signal });
          else reload();
        }, everyMs);
      });
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [round, ...inputs]);
  return { data: state.data, error: state.error, reload, cancel };
}

const showError = (text: string) => notify(text, "bad");

/**
 * Runs one action at a time. Ignores calls while an action is running.
 * @param onError called with a failure's message
 */
export function useAction(onError: (text: string) => unknown = showError) {
  const [isBusy, setBusy] = useState(false);
  const running = useRef(false);
  const run = async (action: () => Promise<unknown>) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    await action().catch((error) => isAbort(error) || onError(messageOf(error)));
    running.current = false;
    setBusy(false);
  };
  return [run, isBusy] as const;
}

/**
 * Are pages one narrow column (console.css)? Read when a component appears, so that long lists start folded.
 */
export const isPhone = () => matchMedia("(max-width: 48rem)").matches;
