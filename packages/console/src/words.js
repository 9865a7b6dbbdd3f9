// words.js: numbers, times and codes, as people read them.

const regions = new Intl.DisplayNames(["en"], { type: "region" });

export const count = (n) => n.toLocaleString("en-US");

/** "12 %", and never 0 % of something. */
export const percent = (part) => (part > 0 && part < 0.005 ? "under 1 %" : `${Math.round(part * 100)} %`);

export function countryName(code) {
  try {
    return regions.of(code) ?? code;
  } catch {
    return code;
  }
}

export function bytes(n) {
  const units = ["B", "KB", "MB", "GB"];
  let value = n;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${n} B` : `${value.toFixed(1)} ${units[unit]}`;
}

const SPANS = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** "3 hours" */
export function span(milliseconds) {
  const seconds = Math.floor(Math.abs(milliseconds) / 1000);
  for (const [size, word] of SPANS) {
    const n = Math.floor(seconds / size);
    if (n > 0) return `${n} ${word}${n === 1 ? "" : "s"}`;
  }
  return "moments";
}

/** The same text with URLs cut down to their hosts: paths and queries say little, and fill a table. */
export const hostsAlone = (text) => text.replace(/https?:\/\/([^\s/]+)\/\S+/g, "$1/…");

/** "3 hours ago" or "in 2 days", with the exact time to be shown on demand. */
export function when(iso, now = Date.now()) {
  if (!iso) return "never";
  const difference = now - Date.parse(iso);
  return difference >= 0 ? `${span(difference)} ago` : `in ${span(difference)}`;
}

export const exact = (iso) =>
  iso
    ? new Date(iso)
        .toISOString()
        .replace("T", " ")
        .replace(/\.\d+Z$/, " UTC")
    : "";

export const milliseconds = (seconds) =>
  seconds === null ? "–" : `${(seconds * 1000).toFixed(seconds < 0.001 ? 2 : 1)} ms`;

/** What labels of evidence mean; an unknown one is shown as it is. */
const LABELS = {
  tor_exit: "Tor exit",
  vpn: "VPN",
  public_proxy: "public proxy",
  open_proxy: "open proxy",
  hosting: "hosting",
  relay: "privacy relay",
  attacker: "reported attacker",
  criminal_network: "criminal network",
  botnet_c2: "botnet command server",
  free_mail: "free mail",
  role_account: "role account",
  disposable: "throw-away service",
  override: "your override",
};
export const label = (code) => LABELS[code] ?? code.replaceAll("_", " ");

/** Name, in a sentence, what it means. */
export const FLAGS = {
  is_abuser: ["Abuser", "an abuser", "seen attacking, or in a network run by criminals"],
  is_proxy: ["Proxy", "a proxy", "hides who is behind it: VPN or public proxy"],
  is_tor_exit: ["Tor exit", "a Tor exit", "where traffic of the Tor network comes out"],
};
