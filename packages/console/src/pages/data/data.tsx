// data.tsx: shows the release in use, every feed's state, the stored releases, and single feeds by their ids.

import type { DataOverview, Release } from "../../answers.ts";
import { ApiError, call } from "../../api.ts";
import { Card, Notice, RelativeTime } from "../../components/basics.tsx";
import { Loaded, lazyPage } from "../../components/loaded.tsx";
import { Action } from "../../components/operation.tsx";
import { formatAges, formatExact, formatRelative } from "../../format.ts";
import { type PageProps, useLoad } from "../../hooks.ts";
import { releaseConcerns, useStatus } from "../../status.tsx";
import { FeedsCard, UnusedFeedsCard } from "./feeds.tsx";
import { ReleasesCard, type Switching } from "./releases.tsx";
import { UpdateStatus } from "./update.tsx";

const FeedPage = lazyPage(async () => (await import("./feed.tsx")).FeedPage);

/** Error codes that mean that the page is out of date. */
const OUTDATED = ["RELEASE_CONFLICT", "RELEASE_NOT_FOUND"];

export const DataPage = ({ rest }: PageProps) =>
  rest === "" || rest.startsWith("?") ? (
    <Overview release={new URLSearchParams(rest).get("release")} />
  ) : (
    <FeedPage key={rest} rest={rest} />
  );

interface OverviewProps {
  /** A part of a release's name: the page shows only this release. */
  readonly release: string | null;
}

function Overview({ release }: OverviewProps) {
  const status = useStatus();
  const kept = useLoad((signal) => call("GET data/releases", {}, signal), []);
  const reload = () => {
    status.reload();
    kept.reload();
  };
  const switching: Switching = {
    message: ({ to }) => `In use: ${to}`,
    done: reload,
    failed: (error) => {
      if (error instanceof ApiError && OUTDATED.includes(error.code ?? "")) reload();
    },
  };
  return (
    <Loaded from={status}>
      {({ overview, feeds, unused }) => (
        <Loaded from={kept}>
          {({ releases }) => {
            const releasesCard = (
              <ReleasesCard
                releases={releases.filter(({ name }) => name.includes(release ?? ""))}
                current={overview.release?.name}
                empty={
                  release === null
                    ? "No releases yet. The first update creates one."
                    : `Release ${release} is no longer stored.`
                }
                switching={switching}
              />
            );
            return release === null ? (
              <>
                <ReleaseCard
                  overview={overview}
                  before={beforeOf(releases)}
                  switching={switching}
                  reload={reload}
                />
                <FeedsCard feeds={feeds} onChosen={reload} />
                <UnusedFeedsCard feeds={unused} onChosen={reload} />
                {releasesCard}
              </>
            ) : (
              <>
                <p>
                  <a href="#/data">All releases and feeds</a>
                </p>
                {releasesCard}
              </>
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

/** Returns the release before the release in use. Releases are listed newest first. */
function beforeOf(releases: readonly Release[]): Release | undefined {
  const at = releases.findIndex(({ current }) => current);
  return at < 0 ? undefined : releases[at + 1];
}

interface ReleaseCardProps {
  readonly overview: DataOverview;
  /** The target of a rollback. */
  readonly before: Release | undefined;
  readonly switching: Switching;
  readonly reload: () => void;
}

const rollbackTo = ({ name, created_at }: Release) =>
  `The server verifies release ${name}, built ${formatRelative(created_at)} (${formatExact(created_at)}), and then uses and pins it. Lookups continue in the meantime.`;

function ReleaseCard({ overview, before, switching, reload }: ReleaseCardProps) {
  const { release, pinned } = overview;
  const ages = formatAges(overview.ages);
  return (
    <Card title={release ? ["In use: ", <code key="name">{release.name}</code>] : "No release yet"}>
      {release && (
        <p>
          Built <RelativeTime iso={release.created_at} /> ({formatExact(release.created_at)}), served since{" "}
          {formatExact(release.serving_since)}.{ages !== "" && ` Age of its data: ${ages}.`}
        </p>
      )}
      {releaseConcerns(overview).map(({ kind, text }, i) => (
        <Notice key={i} kind={kind}>
          {text}
        </Notice>
      ))}
      <UpdateStatus loaded={overview.update} onEnd={reload} />
      {release && (
        <p class="actions">
          <Action
            route="POST data/rollback"
            input={{ current: release.name, to: before?.name }}
            text="Roll back"
            ask={before && rollbackTo(before)}
            isDanger
            refusal={before ? undefined : "No older release is kept."}
            {...switching}
          />
          {pinned ? (
            <Action
              key="unpin"
              route="DELETE data/pin"
              text="Unpin"
              ask="The server switches to the newest release, and later to each newer one."
              {...switching}
            />
          ) : (
            <Action
              key="pin"
              route="POST data/pin"
              input={{ current: release.name }}
              text="Pin"
              ask="Newer releases are kept but not used until you unpin."
              {...switching}
            />
          )}
          <span class="faint">
            {before ? (
              <>
                Before it: <code>{before.name}</code>, built <RelativeTime iso={before.created_at} />.
              </>
            ) : (
              "No older release is kept, so you cannot roll back."
            )}
          </span>
        </p>
      )}
    </Card>
  );
}
