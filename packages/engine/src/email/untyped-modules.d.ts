// untyped-modules.d.ts: types for dependencies that come without them.

declare module "punycode/punycode.js" {
  const punycode: {
    /** @throws RangeError if the text is not Punycode */
    decode(text: string): string;
  };
  export default punycode;
}
