// location.ts: parses the setting that contains a channel's location and name, and URLs with credentials.

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

const isDecodable = (text: string) => decoded(text) !== undefined;

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Splits a base URL into the URL without credentials, and a header with the credentials. */
export function splitCredentials(text: string): {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const url = new URL(text);
  const { username, password } = url;
  url.username = url.password = url.search = url.hash = "";
  const base = url.href.replace(/\/+$/, "");
  if (username + password === "") return { base, headers: {} };
  // A part with an invalid escape is sent unchanged.
  const userinfo = [username, password].map((part) => decoded(part) ?? part).join(":");
  return { base, headers: { authorization: `Basic ${Buffer.from(userinfo).toString("base64")}` } };
}
