// loaded.tsx: what is loaded, or the state on the way there.

import type { ComponentChildren } from "preact";
import { ApiError } from "../api.ts";
import type { Loading } from "../hooks.ts";
import { messageOf } from "../hooks.ts";

interface LoadedProps<T> {
  readonly from: Loading<T>;
  readonly waiting?: string;
  /** Below the error, in addition to its message. */
  readonly hint?: (error: unknown) => ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

export function Loaded<T>({ from, waiting = "Loading …", hint, children }: LoadedProps<T>) {
  const { data, error, reload } = from;
  return (
    <>
      {error !== undefined && <LoadError error={error} retry={reload} hint={hint?.(error)} />}
      {data !== undefined && children(data)}
      {data === undefined && error === undefined && (
        <p class="loading" role="status">
          {waiting}
        </p>
      )}
    </>
  );
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly retry: () => void;
  readonly hint: ComponentChildren;
}

function LoadError({ error, retry, hint }: LoadErrorProps) {
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <section class="card failed">
      <p class="problem" role="alert">
        {messageOf(error)}
      </p>
      {hint}
      {requestId && <p class="faint">Request {requestId}: search the server's log for it.</p>}
      <p class="actions">
        <button type="button" class="quiet" onClick={retry}>
          Try again
        </button>
      </p>
    </section>
  );
}
