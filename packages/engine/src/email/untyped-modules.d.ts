// untyped-modules.d.ts: modules of our dependencies that come without types.

declare module "punycode/punycode.js" {
  const punycode: {
    /** @throws RangeError for what is not Punycode */
    decode(text: string): string;
  };
  export default punycode;
}

declare module "tldts/dist/cjs/src/data/trie.js" {
  /** For each node, which sections of the list have a rule that ends there: 1 ICANN, 2 private. */
  export const nodeFlags: Uint8Array;
  /** For each node its first edge; one entry more than nodes. */
  export const edgeStart: Uint16Array;
  /** For each edge the length of its label; the labels follow each other in `labelText`. */
  export const edgeLength: Uint8Array;
  /** For each edge the node that it leads to. */
  export const edgeChild: Uint16Array;
  export const labelText: string;
  export const rulesRoot: number;
  export const exceptionsRoot: number;
}
