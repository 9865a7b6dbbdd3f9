// named-blocks.ts: the code blocks of a page that are files of the reader's application.

/**
 * Returns the part of a page from a heading of the second level or below to the next one.
 * @throws Error if the page has no such heading
 */
export function sectionOf(page: string, title: string): string {
  const section = page.split(/^##+ /m).find((part) => part.startsWith(`${title}\n`));
  if (section === undefined) throw new Error(`the page has no section ${title}`);
  return section;
}

/**
 * Returns the blocks whose first line is a comment with the name of their file, by that name.
 * @param languages as after the fence: `python`, or `js|ts|html`
 */
export function namedBlocks(page: string, languages: string): ReadonlyMap<string, string> {
  const blocks = page.matchAll(
    new RegExp(`^\`\`\`(?:${languages})\\n((?://|#|<!--) (\\S+\\.\\w+)(?: -->)?\\n[\\s\\S]*?)^\`\`\`$`, "gm"),
  );
  return new Map([...blocks].map(([, code, name]) => [name!, code!]));
}

/**
 * Returns a block of a page that is a part of a file.
 * @param start the first characters of the block
 */
export const partOf = (page: string, start: string): string =>
  page
    .split(/^```\w+\n/m)
    .find((block) => block.startsWith(start))!
    .split(/^```$/m)[0]!;
