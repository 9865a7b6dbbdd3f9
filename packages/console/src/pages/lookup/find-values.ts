// find-values.ts: finds addresses, networks, AS numbers, email addresses and domains in any text: logs, mails, tables,
// JSON.
//
// It finds only candidates. The server parses each candidate and explains what is wrong with it. Words that look like
// an address, a network or an email address but cannot be read come last, so that they do not displace values if there
// are more than MAX_VALUES. Cost: linear, because no alternative begins inside a word and repetitions are bounded.

import { countOf, formatCount } from "../../format.ts";

const KINDS = ["address", "network", "as", "email", "domain", "unreadable"] as const;
type Kind = (typeof KINDS)[number];

export interface Found {
  /** At most {@link MAX_VALUES}. */
  readonly values: readonly string[];
  readonly counts: Readonly<Record<Kind, number>>;
  readonly total: number;
  /** Number of repeated occurrences of values. */
  readonly repeated: number;
  /** True if only the start of the text was read. */
  readonly isCut: boolean;
}

/** Maximum number of values that are looked up. */
export const MAX_VALUES = 1_000;
/** Maximum number of characters that are read. */
export const MAX_TEXT = 2_000_000;

const LABEL = "[\\p{L}\\p{N}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?";
const DOMAIN = `(?:${LABEL}\\.){1,20}(?=\\p{L}[\\p{L}\\p{N}\\p{M}-])${LABEL}`;
const LOCAL = "[^\\s@<>()\\[\\],;:\"'`|=?&/\\\\{}]{1,64}";
const BITS = "(?:\\/\\d{1,3}(?!\\d))?";
const IPV4 = `(?:\\d{1,3}\\.){3}\\d{1,3}${BITS}`;
const IPV6 = `(?:[0-9a-f]{0,4}:){2,8}(?:(?:\\d{1,3}\\.){3}\\d{1,3}|[0-9a-f]{0,4})${BITS}`;
/** Text that looks like an email address but has no complete domain, such as "jane@example". */
const NO_EMAIL =
  "[\\p{L}\\p{N}._%+-]{1,64}@(?=[\\p{N}._-]{0,63}\\p{L})[\\p{L}\\p{N}\\p{M}._-]{1,64}(?![\\p{L}\\p{N}\\p{M}._@-])";
/** Where a value may begin: not inside a word or a version number ("Chrome/120.0.0.0"). */
const START = "(?<![\\p{L}\\p{N}\\p{M}_.@-])(?<![\\p{L}\\p{N}]\\/(?=\\d+\\.))";
const END = "(?![\\p{L}\\p{N}_@]|\\.\\d)";
const START_IPV6 = "(?<![\\p{L}\\p{N}_.:])";
/** What may precede an IPv6 address: no word, or a label such as "IPv6:". */
const BEFORE_IPV6 = `(?:${START_IPV6}|(?<=${START_IPV6}\\p{L}[\\p{L}\\p{N}-]{0,20}:))`;
const VALUES = new RegExp(
  `(?<![\\p{L}\\p{N}])(?<email>${LOCAL}@${DOMAIN})|${BEFORE_IPV6}(?<ipv6>${IPV6})(?::\\d{5})?(?![\\p{L}\\p{N}_:])|${START}(?:(?<ipv4>${IPV4})|(?<domain>${DOMAIN})|(?<as>AS\\d{1,10}))${END}|${START}(?<noEmail>${NO_EMAIL})`,
  "giu",
);

/** File name extensions that are not top-level domains. */
const FILES = new Set(
  "html htm xhtml php phtml asp aspx jsp js mjs cjs ts tsx jsx css scss json jsonl ndjson xml yaml yml toml ini conf cfg env lock log txt md5 csv tsv sql db bak tmp old gz tgz bz2 xz zst tar rar iso exe dll sys bin msi deb rpm jar war class java go rb swift cpp hpp cs vb jpg jpeg png gif svg webp ico bmp tiff woff woff2 ttf eot pdf doc docx xls xlsx ppt pptx odt mp3 mp4 avi mkv wav ogg map wasm service socket local localdomain lan internal".split(
    " ",
  ),
);

export function findValues(text: string): Found {
  const seen = new Map<string, readonly [text: string, kind: Kind]>();
  let repeated = 0;
  for (const { groups = {} } of text.slice(0, MAX_TEXT).matchAll(VALUES)) {
    const found = read(groups);
    if (found === undefined) continue;
    const key = found[0].toLowerCase();
    if (seen.has(key)) repeated++;
    else seen.set(key, found);
  }
  const counts = { address: 0, network: 0, as: 0, email: 0, domain: 0, unreadable: 0 };
  for (const [, kind] of seen.values()) counts[kind]++;
  const rows = [...seen.values()].sort(([, a], [, b]) => rankOf(a) - rankOf(b));
  const values = rows.map(([value]) => value);
  return finish(values, counts, repeated, text.length > MAX_TEXT);
}

const rankOf = (kind: Kind) => (kind === "unreadable" ? 1 : 0);

function finish(values: string[], counts: Found["counts"], repeated: number, isCut: boolean): Found {
  return { values: values.slice(0, MAX_VALUES), counts, total: values.length, repeated, isCut };
}

/**
 * Finds values in typed text. If a single word contains none, the word is looked up unchanged, and the answer explains
 * what is wrong with it.
 */
export function findTyped(text: string): Found {
  const found = findValues(text);
  const word = text.trim();
  if (found.total > 0 || word === "" || /\s/.test(word) || word.length > MAX_WORD) return found;
  return finish([word], found.counts, 0, false);
}
const MAX_WORD = 400;

type Groups = Readonly<Record<string, string | undefined>>;

/** Does the text have "::", or too many groups for a time or a hardware address? */
const isLikeIpv6 = (text: string) =>
  /[0-9a-f]/i.test(text) && (text.includes("::") || text.split(":").length > 8);

function read({
  as,
  email,
  noEmail,
  ipv4,
  ipv6,
  domain,
}: Groups): readonly [text: string, kind: Kind] | undefined {
  if (email !== undefined) return [email, "email"];
  if (noEmail !== undefined) return [noEmail, "unreadable"];
  if (as !== undefined) return [as, "as"];
  if (domain !== undefined) {
    const ending = domain.slice(domain.lastIndexOf(".") + 1);
    return FILES.has(ending.toLowerCase()) ? undefined : [domain, "domain"];
  }
  const text = ipv4 ?? ipv6 ?? "";
  const [host = "", bits] = text.split("/");
  const isAddress =
    ipv4 === undefined
      ? URL.canParse(`http://[${host}]`)
      : host.split(".").every((part) => Number(part) < 256);
  if (!isAddress) return ipv4 !== undefined || isLikeIpv6(host) ? [text, "unreadable"] : undefined;
  const isNetwork = bits !== undefined && Number(bits) <= (ipv4 === undefined ? 128 : 32);
  return isNetwork ? [text, "network"] : [host, "address"];
}

const NOUNS: Readonly<Record<Kind, readonly [one: string, several: string]>> = {
  address: ["address", "addresses"],
  network: ["network", "networks"],
  as: ["AS number", "AS numbers"],
  email: ["email address", "email addresses"],
  domain: ["domain", "domains"],
  unreadable: ["that is not readable", "that are not readable"],
};

/** Describes the result: "Found 3 values: 2 addresses and 1 domain; 4 repetitions." */
export function describeFound({ values, counts, total, repeated, isCut }: Found): string {
  const kinds = KINDS.filter((kind) => counts[kind] > 0).map(
    (kind) => `${formatCount(counts[kind])} ${NOUNS[kind][counts[kind] === 1 ? 0 : 1]}`,
  );
  return [
    `Found ${countOf(total, "value")}${kinds.length > 0 ? `: ${new Intl.ListFormat("en").format(kinds)}` : ""}`,
    repeated > 0 && countOf(repeated, "repetition"),
    total > values.length && `the first ${formatCount(values.length)} are looked up`,
    isCut && `only the first ${formatCount(MAX_TEXT)} characters were read`,
  ]
    .filter(Boolean)
    .join("; ");
}
