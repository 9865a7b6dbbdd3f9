// data.tsx: the release in use, every feed's state, and the releases that are kept.

import type { DataOverview, Feed, Release, UnusedFeed } from "@inkling/server/admin-answers";
import { ApiError, api } from "../../api.ts";
import { Card, Notice, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatAges, formatExact } from "../../format.ts";
import { notify, type PageProps, useLoad } from "../../hooks.ts";
import { useReadOnly } from "../../session.ts";
import { FeedsCard, UnusedFeedsCard } from "./feeds.tsx";
import { ReleasesCard } from "./releases.tsx";
import { UpdateText, useUpdate } from "./update.tsx";

async function loadData(signal: AbortSignal) {
  const [overview, { feeds, unused }, { releases }] = await Promise.all([
    api<DataOverview>("data", { signal }),
    api<{ feeds: Feed[]; unused: UnusedFeed[] }>("data/feeds", { signal }),
    api<{ releases: Release[] }>("data/releases", { signal }),
  ]);
  return { overview, feeds, unused, releases };
}

/** The page is out of date. */
const OUTDATED = ["RELEASE_CONFLICT", "RELEASE_NOT_FOUND"];

export function DataPage({ onRelease }: PageProps) {
  const data = useLoad(loadData, []);
  const reload = () => {
    data.reload();
    onRelease();
  };
  const change = async (method: "POST" | "DELETE", path: string, body?: unknown) => {
    try {
      const { to } = await api<{ to: string }>(path, { method, body });
      notify(`In use: ${to}`);
      reload();
    } catch (error) {
      if (error instanceof ApiError && OUTDATED.includes(error.code ?? "")) reload();
      throw error;
    }
  };
  const choose = async (id: string, on: boolean) => {
    await api("data/feeds", { method: "POST", body: { id, on } });
    notify(`${id} is ${on ? "on" : "off"}: a build follows within seconds`);
    reload();
  };
  return (
    <Loaded from={data}>
      {({ overview, feeds, unused, releases }) => {
        const current = overview.release?.name;
        const use = (to: string) => change("POST", "data/rollback", { current, to });
        return (
          <>
            <ReleaseCard overview={overview} change={change} reload={reload} />
            <FeedsCard feeds={feeds} choose={choose} />
            <UnusedFeedsCard feeds={unused} choose={choose} />
            <ReleasesCard releases={releases} use={current === undefined ? undefined : use} />
          </>
        );
      }}
    </Loaded>
  );
}

interface ReleaseCardProps {
  readonly overview: DataOverview;
  /** Puts another release in use, or pins and unpins. */
  readonly change: (method: "POST" | "DELETE", path: string, body?: unknown) => Promise<void>;
  readonly reload: () => void;
}

const ROLL_BACK = [
  "Roll back?",
  "The release before this one is verified, then used and pinned. Lookups continue meanwhile.",
  "Roll back",
] as const;
const PIN = ["Pin this release?", "Newer releases are kept, but not used until you unpin.", "Pin"] as const;
const UNPIN = ["Unpin?", "The newest release is used again, and every later one.", "Unpin"] as const;

function ReleaseCard({ overview, change, reload }: ReleaseCardProps) {
  const { release, pinned } = overview;
  const ages = formatAges(overview.ages);
  const update = useUpdate(overview.update, reload);
  const readOnly = useReadOnly();
  const body = { current: release?.name };
  const rollBack = () => change("POST", "data/rollback", body);
  const pin = () => change("POST", "data/pin", body);
  const unpin = () => change("DELETE", "data/pin");
  return (
    <Card title={release ? ["In use: ", <code key="name">{release.name}</code>] : "No release yet"}>
      {release && (
        <p>
          Built <RelativeTime iso={release.created_at} /> ({formatExact(release.created_at)}), served since{" "}
          {formatExact(release.serving_since)}, {release.verified ? "every byte verified" : "being verified"}.
          {ages !== "" && ` Age of its data: ${ages}.`}
        </p>
      )}
      <Notices overview={overview} />
      <p role="status">
        <UpdateText {...update} />
      </p>
      <p class="actions">
        <button
          type="button"
          disabled={update.isPending || readOnly !== undefined}
          title={readOnly}
          onClick={update.start}
        >
          Update now
        </button>
        {release && (
          <ConfirmButton key="back" text="Roll back" question={ROLL_BACK} isDanger run={rollBack} />
        )}
        {release && !pinned && <ConfirmButton key="pin" text="Pin" question={PIN} run={pin} />}
        {pinned && <ConfirmButton key="unpin" text="Unpin" question={UNPIN} run={unpin} />}
      </p>
    </Card>
  );
}

/** What is wrong or unusual. */
const Notices = ({
  overview: { release, pinned, missing, partial, refused_release, held_release, failed_build },
}: {
  overview: DataOverview;
}) => (
  <>
    {!release && <Notice kind="bad">Lookups return 503 until there is a release: start an update.</Notice>}
    {pinned && <Notice kind="warn">Pinned: newer releases are kept, but not used until you unpin.</Notice>}
    {release && missing.length > 0 && <Notice kind="bad">No data for {missing.join(", ")}.</Notice>}
    {partial.map(({ answer, why }) => (
      <Notice key={answer} kind="warn">
        {answer}: {why}
      </Notice>
    ))}
    {held_release && (
      <Notice kind="bad">
        A release built <RelativeTime iso={held_release.at} /> waits for you: {held_release.why}. To accept
        it: inkling data update --accept release
      </Notice>
    )}
    {failed_build && (
      <Notice kind="bad">
        The latest build failed <RelativeTime iso={failed_build.at} /> and published nothing:{" "}
        {failed_build.why}
      </Notice>
    )}
    {refused_release && (
      <Notice kind="bad">
        Release refused <RelativeTime iso={refused_release.at} />: {refused_release.reason}
      </Notice>
    )}
  </>
);
