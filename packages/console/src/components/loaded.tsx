// loaded.tsx: loaded data or its loading state, and code that is loaded on demand.

import type { ComponentChildren, FunctionComponent, VNode } from "preact";
import { ApiError } from "../api.ts";
import { type Loading, messageOf, type PageProps, useLoad } from "../hooks.ts";
import { Button, Problem } from "./basics.tsx";

interface LoadedProps<T> {
  readonly from: Loading<T>;
  readonly waiting?: string;
  /** What helps with an error, in addition to its message. */
  readonly hint?: (error: unknown) => ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

export function Loaded<T>({ from, waiting = "Loading …", hint, children }: LoadedProps<T>) {
  const { data, error, reload } = from;
  if (data === undefined && error === undefined)
    return (
      <p class="loading faint" role="status">
        {waiting}
      </p>
    );
  return (
    <>
      {error !== undefined && (
        <section class="card">
          <Problem text={messageOf(error)} />
          {hint?.(error)}
          {error instanceof ApiError && error.requestId && (
            <p class="faint">Request {error.requestId}: search the server's log for it.</p>
          )}
          <Button text="Try again" onClick={reload} />
        </section>
      )}
      {data !== undefined && children(data)}
    </>
  );
}

/** A page whose code is loaded when it is first opened. */
export const lazyPage = (load: () => Promise<FunctionComponent<PageProps>>) =>
  function LazyPage(props: PageProps) {
    const loading = useLoad(load, []);
    return <Loaded from={loading}>{(Page) => <Page {...props} />}</Loaded>;
  };

/** Loads map.tsx when a map is first shown, and keeps its space free meanwhile. */
export function LazyMap({ children }: { children: (maps: typeof import("./map.tsx")) => VNode }) {
  const { data, error } = useLoad(() => import("./map.tsx"), []);
  if (data) return children(data);
  return <p class="map-space faint">{error ? "The map cannot be loaded: reload this page." : ""}</p>;
}
