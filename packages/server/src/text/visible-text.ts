// visible-text.ts: characters that nobody sees: they reorder or hide the text around them, and make two names look alike.
//
// src  Unicode: Bidi_Control and other format characters (Cf), Default_Ignorable_Code_Point, the blank of Braille

/** But for what joins emoji, or chooses their color form. */
export const INVISIBLE =
  /(?!(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\ufe0f|(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f)?)\u200d(?=\p{Extended_Pictographic}))[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** "U+202E". */
export const codeOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** Text of a database that an earlier version may have written: "<U+202E>" for each invisible character. */
export const visibleText = (text: string) => text.replaceAll(INVISIBLE, (it) => `<${codeOf(it)}>`);
