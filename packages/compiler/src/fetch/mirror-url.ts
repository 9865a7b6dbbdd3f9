// mirror-url.ts: whether the operator's mirror is a base URL or a folder, and the credentials in a URL.

/** Whether the mirror is a URL, not a folder. */
export const isMirrorUrl = (mirror: string): boolean => /^https?:\/\//i.test(mirror);

/** A mirror without its credentials. */
export const mirrorName = (mirror: string): string =>
  isMirrorUrl(mirror) ? splitMirrorUrl(mirror).base : mirror;

/** A base URL without credentials, and the credentials as a header. */
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

/** A decoded part of a URL; unchanged with an invalid escape. */
function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
