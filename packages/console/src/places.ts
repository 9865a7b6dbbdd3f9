// places.ts: finds the page of a thing by its id.

/** The group matches what the page's address needs, and no part of a token, because the history keeps the address. */
const PLACES: readonly (readonly [id: RegExp, page: string])[] = [
  [/^(asm_\w{16})$/, "decisions/"],
  [/^(key_\w{16})$/, "keys/"],
  [/ink_(?:live|test)_()/, "keys"],
  [/ink_admin_()/, "tokens"],
  [/whsec_()/, "webhooks"],
  [/^(ovr_\w{16})$/, "overrides/"],
  [/^(whk_\w{16})$/, "webhooks/"],
  [/^ruleset ([1-9]\d*)$/i, "rules/"],
  [/^(?:\d{8}T\d{9}Z-)?([0-9a-f]{12})$/, "data?release="],
];

/** Returns the address of a thing's page, after "#/"; undefined if the text is not an id. */
export function placeOfId(text: string): string | undefined {
  for (const [pattern, page] of PLACES) {
    const id = pattern.exec(text)?.[1];
    if (id !== undefined) return page + id;
  }
  return undefined;
}
