// paged.tsx: a list that is read one page at a time, newest items first.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction, useLoad } from "../hooks.ts";
import { Button } from "./basics.tsx";
import { Loaded } from "./loaded.tsx";

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

interface PagedProps<T> {
  /** @param cursor "" for the first page */
  readonly read: (cursor: string, signal: AbortSignal | null) => Promise<Page<T>>;
  /** Called with the items of all pages read so far. */
  readonly children: (items: readonly T[]) => ComponentChildren;
}

/** Give this component a `key`, so that a different list starts with its own first page. */
export function Paged<T>({ read, children }: PagedProps<T>) {
  const loading = useLoad((signal) => read("", signal), []);
  const [older, setOlder] = useState<Page<T>>();
  const [start, isBusy] = useAction();
  return (
    <Loaded from={loading}>
      {(first) => {
        const { next } = older ?? first;
        const showOlder = async () => {
          const page = await read(next ?? "", null);
          setOlder({ ...page, items: [...(older?.items ?? []), ...page.items] });
        };
        return (
          <>
            {children([...first.items, ...(older?.items ?? [])])}
            {next !== null && <Button text="Show older" isBusy={isBusy} onClick={() => start(showOlder)} />}
          </>
        );
      }}
    </Loaded>
  );
}
