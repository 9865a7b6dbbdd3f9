// ids.ts: the ids that a shell completes. Each source is loaded when it is needed.

import type { Settings } from "@inkling/contract";

export const IDS = {
  "admin-tokens": async (settings: Settings): Promise<string[]> => {
    const { withExistingStore } = await import("./store.ts");
    return withExistingStore(settings, async (store) =>
      (await store.adminToken.list()).map(({ name }) => name),
    );
  },
  feeds: async (settings: Settings): Promise<string[]> =>
    (await import("./feeds.ts")).allFeeds(settings).map(({ id }) => id),
  keys: async (settings: Settings): Promise<string[]> => {
    const { withExistingStore } = await import("./store.ts");
    return withExistingStore(settings, async (store) => (await store.listKeys()).map(({ id }) => id));
  },
  overrides: async (settings: Settings): Promise<string[]> => {
    const { withExistingStore } = await import("./store.ts");
    return withExistingStore(settings, async (store) =>
      (await store.overrides.load()).overrides.map(({ id }) => id),
    );
  },
} as const;
export type IdSource = keyof typeof IDS;
