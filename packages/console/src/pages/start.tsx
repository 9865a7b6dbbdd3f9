// start.tsx: shows whether the server is healthy, how fresh its data is, what needs a person, and the last hour's
// traffic.

import { useContext } from "preact/hooks";
import { Badge, Card, LinkList, RelativeTime } from "../components/basics.tsx";
import { Loaded } from "../components/loaded.tsx";
import { formatDuration } from "../format.ts";
import { type Concern, type Status, StatusContext } from "../status.tsx";
import { LastHour, Numbers } from "./traffic.tsx";

export const StartPage = () => (
  <>
    <Loaded from={useContext(StatusContext)}>
      {(loaded) => (
        <>
          <Numbers rows={numbersOf(loaded)} />
          <Card title={loaded.concerns.length === 0 ? "Nothing needs you" : "What needs you"}>
            {loaded.concerns.length === 0 ? (
              <p>Every feed, host, webhook and key is in order.</p>
            ) : (
              <ul class="concerns">
                {loaded.concerns.map((concern, i) => (
                  <ConcernRow key={i} {...concern} />
                ))}
              </ul>
            )}
          </Card>
        </>
      )}
    </Loaded>
    <LastHour />
  </>
);

/** Maximum number of links of one concern. The linked page lists the rest. */
const MAX_LINKS = 5;

const ConcernRow = ({ page, kind, text, links }: Concern) => (
  <li>
    <Badge kind={kind}>{kind === "bad" ? "fix" : "look"}</Badge>
    <span>
      {text} <LinkList links={links.slice(0, MAX_LINKS)} />
      {links.length > MAX_LINKS && (
        <>
          {" and "}
          <a href={`#/${page}`}>{`${links.length - MAX_LINKS} more`}</a>
        </>
      )}
    </span>
  </li>
);

function numbersOf({ overview: { release, ages }, feeds, hosts, concerns }: Status) {
  const loaded = feeds.filter(({ state }) => state === "loaded").length;
  const isBad = concerns.some(({ kind }) => kind === "bad");
  const ready = hosts?.filter(({ state }) => state === "ready").length ?? 0;
  const oldest = Math.max(...ages.map(({ seconds }) => seconds));
  return [
    ["Health", release === null ? "no data" : isBad ? "needs a fix" : "good"],
    [
      "Release built",
      <a key="built" href="#/data">
        {release ? <RelativeTime iso={release.created_at} /> : "never"}
      </a>,
    ],
    [
      "Oldest data",
      <a key="oldest" href="#/data">
        {ages.length > 0 ? formatDuration(oldest) : "none"}
      </a>,
    ],
    ["Feeds loaded", <a key="feeds" href="#/data">{`${loaded} of ${feeds.length}`}</a>],
    [
      "Hosts ready",
      <a key="hosts" href="#/hosts">
        {hosts ? `${ready} of ${hosts.length}` : "unknown"}
      </a>,
    ],
  ] as const;
}
