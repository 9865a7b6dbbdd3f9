// links.tsx: creates links from values to their answers, and from feeds in evidence to the feeds' pages.

import type { ComponentChildren } from "preact";

interface LookupLinkProps {
  readonly value: string;
  /** The link's text. The default is the value. */
  readonly children?: ComponentChildren;
}

/** A network with a single address links to that address. */
export function LookupLink({ value, children }: LookupLinkProps) {
  const [address = "", bits] = value.split("/");
  const isOne = bits === (address.includes(":") ? "128" : "32");
  const subject = isOne ? address : value;
  return <a href={`#/lookup/${encodeURIComponent(subject)}`}>{children ?? subject}</a>;
}

/** Sources that are not feeds: an operator's override, and Inkling's own derivations and estimates. */
const NO_FEEDS = new Set(["override", "inkling"]);

/** A claim's source: a feed, or an override with its id. */
export function FeedLink({ feed, id }: { feed: string; id?: string | undefined }) {
  if (NO_FEEDS.has(feed)) return <strong>{id === undefined ? feed : `${feed} ${id}`}</strong>;
  return <a href={`#/data/${feed}`}>{feed}</a>;
}
