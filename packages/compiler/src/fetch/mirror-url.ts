// mirror-url.ts: checks whether the operator's mirror is a base URL or a folder.

import { splitCredentials } from "@inkling/data";

/** Returns whether the mirror is a URL and not a folder. */
export const isMirrorUrl = (mirror: string): boolean => /^https?:\/\//i.test(mirror);

/** Returns the mirror without its credentials. */
export const mirrorName = (mirror: string): string =>
  isMirrorUrl(mirror) ? splitCredentials(mirror).base : mirror;
