// loaded.tsx: shows loaded data or its loading state, and loads code on demand.

import type { ComponentChildren, FunctionComponent, VNode } from "preact";
import { ApiError } from "../api.ts";
import { type Loading, messageOf, type PageProps, useLoad } from "../hooks.ts";
import { Button, Problem } from "./basics.tsx";

interface LoadedProps<T> {
  readonly from: Loading<T>;
  readonly waiting?: string;
  /** Whether the user can cancel the load, because it may take long. */
  readonly isLong?: boolean;
  readonly children: (data: T) => ComponentChildren;
}

export function Loaded<T>({ from, waiting = "Loading …", isLong, children }: LoadedProps<T>) {
  const { data, error, reload, cancel } = from;
  if (data === undefined && error === undefined)
    return (
      <div class="loading faint" role="status">
        <p>
          {waiting} {isLong && <Button text="Cancel" onClick={cancel} />}
        </p>
        <i /> <i /> <i />
      </div>
    );
  return (
    <>
      {error !== undefined && (
        <section class="card">
          <Problem text={messageOf(error)} />
          {error instanceof ApiError && error.code === "DATA_NOT_LOADED" && (
            <p>
              <a href="#/data">Go to Data to start an update</a>
            </p>
          )}
          {error instanceof ApiError && error.status >= 500 && error.requestId && (
            <p class="faint">Request {error.requestId}. Search the server's log for this id.</p>
          )}
          {!(error instanceof ApiError && error.status === 400) && (
            <Button text="Try again" onClick={reload} />
          )}
        </section>
      )}
      {data !== undefined && children(data)}
    </>
  );
}

/** A page whose code is loaded when the page is first opened. */
export const lazyPage = (load: () => Promise<FunctionComponent<PageProps>>) =>
  function LazyPage(props: PageProps) {
    const loading = useLoad(load, []);
    return <Loaded from={loading}>{(Page) => <Page {...props} />}</Loaded>;
  };

/** Loads map.tsx when a map is first shown. Until map.tsx is loaded, the map's space remains free. */
export function LazyMap({ children }: { children: (maps: typeof import("./map.tsx")) => VNode }) {
  const { data, error } = useLoad(() => import("./map.tsx"), []);
  if (data) return children(data);
  return <p class="map-space faint">{error ? "The map could not be loaded. Reload this page." : ""}</p>;
}
