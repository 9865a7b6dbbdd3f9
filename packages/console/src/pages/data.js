// data.js: every feed and how it stands; the releases, and what changed between them.

import { api } from "../api.js";
import { meter, sparkline } from "../charts.js";
import { complain, confirmed, fill, h, say, table } from "../dom.js";
import { bytes, count, exact, FLAGS, hostsAlone, span, when } from "../words.js";

const POLL_MS = 2_000;

export default async function data(_, signal) {
  const content = h("div", {});
  await show(content, signal);
  return content;
}

async function show(content, signal) {
  const [overview, { feeds }, { releases }] = await Promise.all([
    api("data", { signal }),
    api("data/feeds", { signal }),
    api("data/releases", { signal }),
  ]);
  const again = () => show(content, signal).catch(complain);
  const act = acting(again);
  const current = overview.release?.name;
  fill(
    content,
    actionsCard(overview, act, again, signal),
    feedsCard(feeds),
    releasesCard(releases, (to) => act(...rollback(current, to))),
  );
}

/** Asks, and does what was asked about; the page then shows what came of it. */
function acting(again) {
  return async (title, text, label, request) => {
    if (!(await confirmed(title, text, label))) return;
    try {
      const { to } = await request();
      say(`In use: ${to}`);
      again();
    } catch (error) {
      say(error.message, "bad");
      if (error.code === "STALE_FORM" || error.code === "RELEASE_NOT_FOUND") again(); // what there is by now
    }
  };
}

/** @param to undefined: the release before the one in use */
function rollback(current, to) {
  const which = to ? `The release ${to}` : "The release before this one";
  return [
    to ? "Use this release?" : "Roll back?",
    `${which} is read through, then used and pinned. Look-ups go on meanwhile.`,
    to ? "Use it" : "Roll back",
    () => api("data/rollback", { method: "POST", body: { current, to } }),
  ];
}

function actionsCard(overview, act, again, signal) {
  const { release, update, pinned, missing, partial, refused_release } = overview;
  const state = h("p", { role: "status" }, updateText(update));
  const begin = h(
    "button",
    { type: "button", onclick: () => watchUpdate(state, begin, again, signal, "POST") },
    "Update now",
  );
  // one that somebody else has begun, or that is due
  if (update?.running || update?.asked) watchUpdate(state, begin, again, signal, "GET");
  const current = release?.name;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, release ? ["In use: ", h("code", {}, release.name)] : "No release yet"),
    release &&
      h(
        "p",
        {},
        `Made ${when(release.created_at)} (${exact(release.created_at)}), served since ${exact(release.serving_since)}${release.verified ? ", every byte read" : ", being read through"}.`,
      ),
    pinned &&
      h(
        "p",
        { class: "problem" },
        "Pinned: newer releases are built and kept, but not used, until you unpin.",
      ),
    release
      ? missing.length > 0 && h("p", { class: "problem" }, `No data for ${missing.join(", ")}.`)
      : h(
          "p",
          { class: "problem" },
          "Look-ups are answered with 503 until there is one: an update makes it.",
        ),
    partial.map(({ answer, why }) => h("p", { class: "faint" }, `${answer}: ${why}`)),
    refused_release &&
      h("p", { class: "problem" }, `Refused ${when(refused_release.at)}: ${refused_release.reason}`),
    state,
    h(
      "p",
      { class: "actions" },
      begin,
      current &&
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => act(...rollback(current)),
          },
          "Roll back",
        ),
      current &&
        !pinned &&
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () =>
              act("Pin this release?", "Newer releases are kept, but not used, until you unpin.", "Pin", () =>
                api("data/pin", { method: "POST", body: { current } }),
              ),
          },
          "Pin",
        ),
      pinned &&
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () =>
              act("Unpin?", "The newest release is used again, and whatever comes after it.", "Unpin", () =>
                api("data/pin", { method: "DELETE" }),
              ),
          },
          "Unpin",
        ),
    ),
  );
}

function updateText(update) {
  if (!update) return "This server does not build data itself.";
  if (update.running) return "An update is running …";
  if (update.asked) return "An update begins soon …";
  const { last } = update;
  if (!last) return "No update since the server started.";
  if (last.problem)
    return `The last update failed ${when(last.at)}: ${last.problem}${last.hint ? ` (${last.hint})` : ""}`;
  return `The last update ended ${when(last.at)} after ${last.seconds.toFixed(1)} s: ${last.published ? "a new release" : "nothing new"}.`;
}

/** Shows an update until it has ended. @param method "POST" asks for one, "GET" sees how it stands */
async function watchUpdate(state, begin, again, signal, method) {
  begin.disabled = true;
  try {
    let update = await api("data/update", { method, signal });
    while (update.running || update.asked) {
      fill(state, updateText(update), " ", h("progress", { "aria-label": "Update" }));
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (signal.aborted || !state.isConnected) return; // a newer card has its own
      update = await api("data/update", { signal });
    }
    say(updateText(update), update.last?.problem ? "bad" : "good");
    again();
  } catch (error) {
    complain(error);
  } finally {
    begin.disabled = false;
  }
}

const STATE_KIND = { loaded: "good", missing: "faint", refused: "bad", expired: "bad" };

function feedsCard(feeds) {
  const rank = (feed) =>
    feed.pending
      ? 0
      : feed.state === "refused" || feed.state === "expired"
        ? 1
        : feed.stale || feed.error
          ? 2
          : feed.state === "loaded"
            ? 3
            : 4;
  const rows = [...feeds]
    .sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id))
    .map((feed) => [
      [
        feed.homepage
          ? h("a", { href: feed.homepage, rel: "noreferrer noopener", target: "_blank" }, feed.id)
          : h("strong", {}, feed.id),
        h("small", {}, feed.title === feed.id ? feed.sets : feed.title),
      ],
      [
        h(
          "span",
          { class: `badge ${feed.pending ? "bad" : feed.stale ? "warn" : STATE_KIND[feed.state]}` },
          feed.pending ? "waits for you" : feed.stale ? "stale" : feed.state,
        ),
        feed.error && h("small", { class: "bad", title: feed.error }, hostsAlone(feed.error)),
        feed.pending &&
          h("small", {}, `${feed.pending.why}. Accept: inkling data update --accept ${feed.id}`),
      ],
      age(feed),
      [
        count(feed.entries),
        feed.history.length > 1 &&
          sparkline(
            feed.history.map(({ entries }) => entries),
            `Entries over ${feed.history.length} releases, from ${count(feed.history[0].entries)} to ${count(feed.history.at(-1).entries)}`,
          ),
      ],
      [feed.licence, feed.attribution && h("small", {}, feed.attribution)],
    ]);
  return h(
    "section",
    { class: "card" },
    h(
      "h2",
      {},
      `Feeds (${feeds.filter(({ state }) => state === "loaded").length} of ${feeds.length} loaded)`,
    ),
    table(
      "Feeds",
      [
        { name: "Feed" },
        { name: "State" },
        { name: "Age" },
        { name: "Entries", right: true },
        { name: "Licence" },
      ],
      rows,
      "There is no release, or it names none.",
    ),
  );
}

/** Age against what is too old for this feed. */
function age(feed) {
  if (feed.age_seconds === null) return "–";
  const said = span(feed.age_seconds * 1000);
  const title = feed.cadence_hours ? `a new one each ${span(feed.cadence_hours * 3_600_000)}` : "";
  if (!feed.stale_hours) return h("span", { title }, said);
  const part = feed.age_seconds / 3600 / feed.stale_hours;
  return h("span", { title }, meter(part, said, part > 1 ? "bad" : part > 0.7 ? "warn" : ""));
}

/** @param use what happens to one that is chosen */
function releasesCard(releases, use) {
  const isAnyInUse = releases.some(({ current }) => current);
  const rows = releases.map((release) => {
    const changes = h("div", {});
    return [
      [
        h("code", {}, release.name),
        release.current && h("span", { class: "badge good" }, "in use"),
        release.pinned && h("span", { class: "badge warn" }, "pinned"),
        isAnyInUse &&
          !release.current &&
          h(
            "button",
            {
              type: "button",
              class: "quiet beside",
              onclick: () => use(release.name),
              "aria-label": `Use this one: ${release.name}`,
            },
            "Use this one",
          ),
      ],
      h("span", { title: exact(release.created_at) }, when(release.created_at)),
      bytes(release.bytes),
      [
        changedFeeds(release.feeds_changed),
        release.feeds_changed &&
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              onclick: () => compare(release.name, changes),
              "aria-label": `What changed in ${release.name}`,
            },
            "What changed",
          ),
        changes,
      ],
    ];
  });
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Releases"),
    table(
      "Releases",
      [
        { name: "Release" },
        { name: "Made" },
        { name: "Size", right: true },
        { name: "Against the one before" },
      ],
      rows,
      "None yet: the first update makes one.",
    ),
  );
}

function changedFeeds(changed) {
  if (changed === null) return h("small", {}, "the oldest that is kept");
  if (changed.length === 0) return h("small", {}, "no list changed");
  const told = changed
    .slice(0, 4)
    .map(({ feed, entries_before, entries }) => `${feed} ${signed(entries - entries_before)}`);
  return h("small", {}, told.join(", "), changed.length > 4 && ` and ${changed.length - 4} more`);
}

function moreAndFewer(what, added, removed) {
  if (added === 0 && removed === 0) return `the same ${what}`;
  const said = [added > 0 && `${count(added)} more`, removed > 0 && `${count(removed)} fewer`];
  return `${what} ${said.filter(Boolean).join(", ")}`;
}

const signed = (n) => (n > 0 ? `+${count(n)}` : n < 0 ? `−${count(-n)}` : "±0");

async function compare(name, into) {
  fill(into, h("small", { role: "status" }, "Comparing …"));
  try {
    const { changes } = await api(`data/releases/${name}/changes`);
    const flags = Object.entries(changes?.flags ?? {}).map(([flag, { added, removed }]) =>
      h(
        "li",
        {},
        `${FLAGS[flag]?.[0] ?? flag}: `,
        moreAndFewer("IPv4 addresses", added.ipv4_addresses, removed.ipv4_addresses),
        "; ",
        moreAndFewer("IPv6 networks", added.ipv6_networks, removed.ipv6_networks),
      ),
    );
    const mail =
      changes?.disposable &&
      h(
        "li",
        {},
        "Disposable: ",
        moreAndFewer("domains", changes.disposable.added, changes.disposable.removed),
      );
    fill(
      into,
      flags.length > 0 || mail
        ? h("ul", { class: "changes" }, flags, mail)
        : h("small", {}, "Nothing to compare."),
    );
  } catch (error) {
    fill(into, h("small", { class: "bad" }, error.message));
  }
}
