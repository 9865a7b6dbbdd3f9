// location.ts: parses the setting that contains a channel's location and name.

/** Valid names of channels are safe in the paths of every store. */
export const CHANNEL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

const DEFAULT_CHANNEL = "stable";

export interface ChannelLocation {
  readonly base: string;
  readonly channel: string;
}

/** @returns undefined if the text is not the location of a channel */
export function parseChannel(text: string): ChannelLocation | undefined {
  const at = text.indexOf("#");
  const base = at === -1 ? text : text.slice(0, at);
  const channel = at === -1 ? DEFAULT_CHANNEL : text.slice(at + 1);
  if (base === "" || !CHANNEL_NAME.test(channel)) return undefined;
  const scheme = /^([a-z0-9+.-]+):\/\//i.exec(base)?.[1];
  if (scheme === undefined) return /^(https?|s3):/i.test(base) ? undefined : { base, channel };
  if (!["http", "https", "s3"].includes(scheme) || !URL.canParse(base)) return undefined;
  if (new URL(base).hostname === "") return undefined; // the text is "s3://" without a bucket
  const { username, password, search, pathname } = new URL(base);
  if (search !== "" || (scheme === "s3" && username + password !== "")) return undefined;
  return [username, password, pathname].every(isDecodable) ? { base, channel } : undefined;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
