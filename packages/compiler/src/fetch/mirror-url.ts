// mirror-url.ts: checks whether the operator's mirror is a base URL or a folder, and separates a URL's credentials.

/** Returns whether the mirror is a URL and not a folder. */
export const isMirrorUrl = (mirror: string): boolean => /^https?:\/\//i.test(mirror);

/** Returns the mirror without its credentials. */
export const mirrorName = (mirror: string): string =>
  isMirrorUrl(mirror) ? splitMirrorUrl(mirror).base : mirror;

/** Splits a base URL into the URL without credentials, and a header with the credentials. */
export function splitMirrorUrl(mirror: string): { base: string; headers: Readonly<Record<string, string>> } {
  const url = new URL(mirror);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  const base = url.href.replace(/\/+$/, "");
  if (username === "" && password === "") return { base, headers: {} };
  const userinfo = `${decodePart(username)}:${decodePart(password)}`;
  return { base, headers: { authorization: `Basic ${Buffer.from(userinfo).toString("base64")}` } };
}

/** Decodes a part of a URL. A part with an invalid escape is returned unchanged. */
function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
