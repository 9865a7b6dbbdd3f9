// generated.ts: generates requests from a fixed seed, about values in the feeds, values beside them, and damaged
// values.

import type { Request } from "./exchange.ts";
import { ipv4 } from "./feeds.ts";
import { Random, times } from "./random.ts";
import {
  EVIDENCE,
  encoded,
  GEO,
  JSON_TYPE,
  LINES_TYPE,
  LOOKUPS,
  MAIL,
  post,
  REP,
  values,
  withMethod,
} from "./rows.ts";

const server = (random: Random) =>
  random.pick(["full", "full", "full", "full", "full", "full", "partial", "lenient"] as const);

function damaged(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const what = random.pick([...".:@+0%/ f-_\"'xé漢\u0000"]);
  return random.pick([
    () => text.slice(0, at) + what + text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text.slice(0, at) + what + text.slice(at + 1),
    () => text.slice(at) + text.slice(0, at),
    () => text.toUpperCase(),
  ])();
}

/** Returns an address in or near a network. */
function near(network: string, random: Random): string {
  const [first = "", bits] = network.split("/");
  if (first.includes(":"))
    return `${first.replace(/::$/, random.chance(0.2) ? ":ffff:" : "::")}${random.chance(0.2) ? "ffff:" : ""}${random.below(0x10000).toString(16)}`.replace(
      /::(.*)::/,
      "::$1:",
    );
  const base = first.split(".").reduce((value, octet) => value * 256 + Number(octet), 0);
  const size = 2 ** (32 - Number(bits));
  const offset = random.pick([0, size - 1, -1, size, random.below(size)]);
  const address = ipv4((base + offset) >>> 0);
  return random.chance(0.1) ? random.pick([`::ffff:${address}`, `64:ff9b::${address}`]) : address;
}

export function generated(networks: readonly string[], domains: readonly string[]): Request[] {
  const random = new Random(20);
  const query = () => (random.chance(0.35) ? EVIDENCE : "");
  const address = () => (random.chance(0.85) ? near(random.pick(networks), random) : ipv4(random.uint32()));
  const email = () => {
    const local = random.pick([
      "jane",
      "j.doe",
      "info",
      "sales+eu",
      '"a b"',
      "ünï",
      "a",
      "no-reply",
      `x${random.below(1000)}`,
    ]);
    const domain = random.pick(domains);
    return `${local}@${random.pick(["", "", "", "mail.", "x.y."])}${random.chance(0.1) ? domain.toUpperCase() : domain}`;
  };
  const one = (): Request => {
    const path = random.pick([GEO, GEO, REP, REP, MAIL]);
    const value = path === MAIL ? email() : address();
    const sent = random.chance(0.15) ? damaged(value, random) : value;
    const segment = random.chance(0.9) ? encoded(sent) : sent.replace(/[^!-~]/g, "~");
    return withMethod(random.chance(0.05) ? "HEAD" : "GET", `${path}/${segment}${query()}`, {
      server: server(random),
    });
  };
  const batch = (): Request => {
    const path = random.pick(LOOKUPS);
    const list = times(1 + random.below(12), () => {
      const value = path === MAIL ? email() : address();
      return random.chance(0.1) ? damaged(value, random) : value;
    });
    const isLines = random.chance(0.5);
    return post(
      path + query(),
      isLines ? list.map((value) => `${JSON.stringify(value)}\n`).join("") : values(...list),
      {
        headers: [isLines ? LINES_TYPE : JSON_TYPE],
        server: server(random),
      },
    );
  };
  return [...times(2_500, one), ...times(250, batch)];
}
