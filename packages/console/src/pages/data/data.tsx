// data.tsx: the release in use, every feed's state, and the releases that are kept.

import { api } from "../../api.ts";
import { Loaded } from "../../components/loaded.tsx";
import { type PageProps, useLoad } from "../../hooks.ts";
import type { DataOverview, Feed, Release } from "../../types.ts";
import { FeedsCard } from "./feeds.tsx";
import { ReleaseCard } from "./release.tsx";
import { ReleasesCard } from "./releases.tsx";
import { makeSwitchRelease } from "./switch-release.ts";

interface DataState {
  readonly overview: DataOverview;
  readonly feeds: readonly Feed[];
  readonly releases: readonly Release[];
}

async function loadData(signal: AbortSignal): Promise<DataState> {
  const [overview, { feeds }, { releases }] = await Promise.all([
    api<DataOverview>("data", { signal }),
    api<{ feeds: Feed[] }>("data/feeds", { signal }),
    api<{ releases: Release[] }>("data/releases", { signal }),
  ]);
  return { overview, feeds, releases };
}

export function DataPage({ onRelease }: PageProps) {
  const data = useLoad(loadData, []);
  const reload = () => {
    data.reload();
    onRelease();
  };
  const switchRelease = makeSwitchRelease(reload);
  return (
    <Loaded from={data}>
      {({ overview, feeds, releases }) => (
        <>
          <ReleaseCard overview={overview} switchRelease={switchRelease} reload={reload} />
          <FeedsCard feeds={feeds} />
          <ReleasesCard releases={releases} current={overview.release?.name} switchRelease={switchRelease} />
        </>
      )}
    </Loaded>
  );
}
