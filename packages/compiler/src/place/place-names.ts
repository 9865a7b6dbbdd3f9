// place-names.ts: turns names as written by sources into printable names, and into keys for comparing them.

/** Letters that Unicode does not decompose into a base letter and a mark. */
const LETTERS: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  ı: "i",
  ß: "ss",
  þ: "th",
  ə: "a",
  ħ: "h",
  ŋ: "n",
  "&": " and ",
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "gu");

/** Words for types of division. They are removed only at the start or end of a name. */
const KIND_WORDS = new Set(
  // English words
  (
    "administrative area atoll autonomous canton capital city commune community council county department " +
    "district division emirate federal governate governorate island islands land metropolitan municipal " +
    "municipality parish prefecture province region republic special state territory union unitary urban town " +
    // words in other languages, as feeds spell them
    "atholhu aymag baladiyat castello departamento departement distrikt dzongkhag gouvernorat judet kanton " +
    "khoueng krai kray megye mintaqah mohafazat muhafazat novads oblast oblisi oblys oblysy obcina okres okrug " +
    "opstina ostan provincia provincie provinsi raion raionul rajon rajons rayon regione respublika shabiyat " +
    "tinh viloyati voivodeship welayaty wilaya zupanija " +
    // articles and connecting words
    "al and da de del di do e el hal haz i id il in ir is it ix iz l la le of ta tal tas the"
  ).split(" "),
);

// Control characters, zero-width and direction marks, the replacement character, lone surrogates.
// U+200C and U+200D remain, because Persian and Indic spelling needs them.
const UNPRINTABLE = /[\p{Cc}\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd\p{Cs}]+/gu;
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;
const READABLE = /[\p{L}\p{N}]/u;
/**
 * Matches printable names that are not formulas. This pattern accepts nearly every name, so that three other tests are
 * rarely needed.
 */
const CLEAN = /^[0-9A-Za-z][!-~]*(?: [!-~]+)*$/;
/** Signs that begin a spreadsheet formula but never a name. People open exports and enriched files in spreadsheets. */
const FORMULA = /^[=+@\-\uff1d\uff0b\uff20\uff0d\s]+/u;

/**
 * Returns the name in NFC, with single spaces, without control characters, and without a formula sign at its start.
 * @returns undefined if no letter or digit is left ("", "-", "?")
 */
export function cleanName(text: string | undefined): string | undefined {
  if (text === undefined || CLEAN.test(text)) return text;
  const clean = PLAIN.test(text)
    ? text
    : text.normalize("NFC").replace(UNPRINTABLE, " ").replace(/\s+/gu, " ").trim();
  return READABLE.test(clean) ? clean.replace(FORMULA, "") : undefined;
}

/**
 * Rivers and regions that are part of German town names: all that occur in DB-IP, plus Saale. Other names in brackets
 * are districts.
 */
const GERMAN_QUALIFIER =
  /\((?:Allgau|Chiemgau|Elbe|Hessen|Oder|Saale|Schwarzwald|Sieg|Taunus|Unterweser|Wumme)\)$/u;

/**
 * Removes the district that DB-IP writes in brackets after the city: "Seoul (Toegye-ro)". 18.6% of the routed IPv4
 * space has such names.
 * @param name the name in the database
 * @param country ISO 3166-1 code
 */
export function withoutDistrict(name: string | undefined, country: string | undefined): string | undefined {
  if (name === undefined || !name.endsWith(")")) return name;
  if (country === "DE" && GERMAN_QUALIFIER.test(name)) return name;
  let depth = 0;
  for (let at = name.length - 1; at > 0; at--) {
    if (name[at] === ")") depth++;
    else if (name[at] === "(" && --depth === 0) return name.slice(0, at).trimEnd();
  }
  return name;
}

/** Returns the words of a name in lower case, without marks or punctuation. */
export function nameWords(name: string): string[] {
  return name
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(LETTER, (letter) => LETTERS[letter] ?? "")
    .replace(/['’‘ʻʼ`´ʽ]/gu, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map((word) => (word === "st" ? "saint" : word));
}

/** Keys that are equal for two spellings of one name. */
interface NameKeys {
  /** All words of the name, joined. */
  readonly whole: string;
  /**
   * The key in `whole`, and its variants without text in brackets or after a comma, and without words for types of
   * division.
   */
  readonly loose: readonly string[];
}

/** Returns the keys of one name. They are empty if the name contains nothing that can be compared. */
export function nameKeys(name: string): NameKeys {
  const whole = nameWords(name);
  const short = nameWords(name.replace(/\s*[([].*$/u, "").replace(/,.*$/u, ""));
  const loose = [whole, short, withoutKind(short), withoutKind(whole)].map((list) => list.join(""));
  return { whole: whole.join(""), loose: [...new Set(loose)].filter((key) => key !== "") };
}

function withoutKind(list: readonly string[]): string[] {
  let start = 0;
  let end = list.length;
  while (start < end && KIND_WORDS.has(list[start]!)) start++;
  while (end > start && KIND_WORDS.has(list[end - 1]!)) end--;
  return start === end ? [...list] : list.slice(start, end);
}
