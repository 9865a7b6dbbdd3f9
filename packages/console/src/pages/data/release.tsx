// release.tsx: the release in use, what is wrong with it, and the actions: update, roll back, pin.

import type { ComponentChildren } from "preact";
import { Card, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { formatExact } from "../../format.ts";
import type { DataOverview } from "../../types.ts";
import type { SwitchRelease } from "./switch-release.ts";
import { UpdateText, useUpdate } from "./update.tsx";

interface ReleaseCardProps {
  readonly overview: DataOverview;
  readonly switchRelease: SwitchRelease;
  readonly reload: () => void;
}

export function ReleaseCard({ overview, switchRelease, reload }: ReleaseCardProps) {
  const { release, pinned } = overview;
  const update = useUpdate(overview.update, reload);
  return (
    <Card title={release ? ["In use: ", <code key="name">{release.name}</code>] : "No release yet"}>
      {release && (
        <p>
          Created <RelativeTime iso={release.created_at} /> ({formatExact(release.created_at)}), served since{" "}
          {formatExact(release.serving_since)},{" "}
          {release.verified ? "every byte verified" : "verification running"}.
        </p>
      )}
      <Notices overview={overview} />
      <p role="status">
        <UpdateText update={update} />
      </p>
      <p class="actions">
        <button type="button" disabled={update.isPending} onClick={update.start}>
          Update now
        </button>
        {release && (
          <ConfirmButton
            key="rollback"
            title="Roll back?"
            text="The release before this one is verified, then used and pinned. Lookups continue meanwhile."
            confirm="Roll back"
            run={() => switchRelease("POST", "data/rollback", { current: release.name })}
          >
            Roll back
          </ConfirmButton>
        )}
        {release && !pinned && (
          <ConfirmButton
            key="pin"
            title="Pin this release?"
            text="Newer releases are built and kept, but not used until you unpin."
            confirm="Pin"
            isDanger={false}
            run={() => switchRelease("POST", "data/pin", { current: release.name })}
          >
            Pin
          </ConfirmButton>
        )}
        {pinned && (
          <ConfirmButton
            key="unpin"
            title="Unpin?"
            text="The newest release is used again, and every later one."
            confirm="Unpin"
            isDanger={false}
            run={() => switchRelease("DELETE", "data/pin")}
          >
            Unpin
          </ConfirmButton>
        )}
      </p>
    </Card>
  );
}

const Notice = ({ kind, children }: { kind: "bad" | "warn"; children: ComponentChildren }) => (
  <li class={`notice ${kind}`}>{children}</li>
);

/** What is wrong or unusual. */
const Notices = ({ overview }: { overview: DataOverview }) => {
  const { release, pinned, missing, partial, refused_release } = overview;
  return (
    <ul class="plain-list">
      {pinned && (
        <Notice kind="warn">Pinned: newer releases are built and kept, but not used until you unpin.</Notice>
      )}
      {!release && <Notice kind="bad">Lookups return 503 until there is a release: start an update.</Notice>}
      {release && missing.length > 0 && <Notice kind="bad">No data for {missing.join(", ")}.</Notice>}
      {partial.map(({ answer, why }) => (
        <Notice key={answer} kind="warn">
          {answer}: {why}
        </Notice>
      ))}
      {refused_release && (
        <Notice kind="bad">
          Release refused <RelativeTime iso={refused_release.at} />: {refused_release.reason}
        </Notice>
      )}
    </ul>
  );
};
