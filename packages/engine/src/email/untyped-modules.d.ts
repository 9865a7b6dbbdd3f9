// untyped-modules.d.ts: modules of our dependencies that come without types.

declare module "punycode/punycode.js" {
  const punycode: {
    /** @throws RangeError for what is not Punycode */
    decode(text: string): string;
  };
  export default punycode;
}
