// paged.tsx: a list that is read page by page, newest first.

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
  /** Gets the items of all pages that were read. */
  readonly children: (items: readonly T[]) => ComponentChildren;
}

/** Give it a key, so that another list begins with its first page. */
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
