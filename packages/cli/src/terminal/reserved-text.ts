// reserved-text.ts: why a special-use address or network has no answer, for somebody at a terminal. (The API's text is about
// proxies, which pass on such addresses.)

const REASONS: Readonly<Record<string, string>> = {
  private: "any organization may use it internally",
  "carrier-grade NAT": "providers use it between their customers and the internet",
  loopback: "it always means the machine itself",
  "link-local": "it exists only on one network link",
  documentation: "it is reserved for examples",
};

/**
 * @param subject "10.0.0.1", "10.1.0.0/16"
 * @param use fits "… is a <use> address"
 * @param network the special-use network around it
 */
export function reservedText(subject: string, use: string, network: string): [message: string, hint: string] {
  const article = /^[aeiou]/i.test(use) ? "an" : "a";
  const what = subject.includes("/") ? "network" : "address";
  const reason = REASONS[use] ?? "a standard reserves it";
  return [
    `${subject} is ${article} ${use} ${what}`,
    `it belongs to ${network}: ${reason}, so no feed describes it; look up the visitor's public address`,
  ];
}
