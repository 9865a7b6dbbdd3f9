// visible-text.ts: finds invisible characters, which can reorder or hide the text around them, or make two names look
// alike.
//
// Source: Unicode's Bidi_Control and other format characters (Cf), Default_Ignorable_Code_Point, and the Braille blank.

/** Invisible characters, except those that join emoji or choose their colour form. */
export const INVISIBLE =
  /(?!(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\ufe0f|(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f)?)\u200d(?=\p{Extended_Pictographic}))[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Formats a character as "U+202E". */
export const codeOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** Shows each invisible character as "<U+202E>". Earlier versions may have stored such text. */
export const visibleText = (text: string) => text.replaceAll(INVISIBLE, (it) => `<${codeOf(it)}>`);
