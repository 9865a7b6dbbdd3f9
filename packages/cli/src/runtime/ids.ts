// ids.ts: lists the ids that a shell can complete. The code for each source is loaded on demand.

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
  "added-feeds": async ({ dataDir }: Settings): Promise<string[]> =>
    ((await import("./feeds.ts")).choiceOf(dataDir).added ?? []).map(({ id }) => id),
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
