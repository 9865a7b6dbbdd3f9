// answer-headers.ts: the headers of a lookup's answer, most of which are the same from one request to the next.
//
// in   a release; per request its id and what is left of the key's rate
// out  a Headers that a Response copies at once
// cost a Response from an object of eight headers takes 950 ns, from a Headers kept and changed in two places 560 ns

import { LOOKUPS, type LoadedRelease, type Lookup, type StateHeader } from "@inkling/engine";

export const JSON_TYPE = "application/json";
export const IP_CACHE = "private, max-age=300";
export const NO_STORE = "no-store";
export const DATA_STATE = "Inkling-Data-State";

export class AnswerHeaders {
  private readonly headers: Headers;
  private policy: string | undefined;
  private left = "";

  constructor(fixed: Readonly<Record<string, string>>) {
    this.headers = new Headers(fixed);
  }

  /**
   * @param policy undefined for a key without limits
   * @returns the same object each time: hand it to a Response before the next call
   */
  fill(requestId: string, policy: string | undefined, left: string): Headers {
    const { headers } = this;
    headers.set("X-Request-Id", requestId);
    if (policy !== this.policy) this.changePolicy(policy);
    if (policy !== undefined && left !== this.left) {
      this.left = left;
      headers.set("RateLimit", left);
    }
    return headers;
  }

  private changePolicy(policy: string | undefined): void {
    this.policy = policy;
    this.left = "";
    if (policy !== undefined) {
      this.headers.set("RateLimit-Policy", policy);
      return;
    }
    this.headers.delete("RateLimit-Policy");
    this.headers.delete("RateLimit");
  }
}

/** What the answers of a release have in common, by lookup. */
export function answerTemplates(
  { manifest, etag }: LoadedRelease,
  states: Readonly<Record<Lookup, StateHeader>>,
): Readonly<Record<Lookup, AnswerHeaders>> {
  const template = (lookup: Lookup) => {
    const state = states[lookup].plain;
    return new AnswerHeaders({
      "Content-Type": JSON_TYPE,
      "Inkling-Data-Version": manifest.id,
      ...(lookup === "email"
        ? { "Cache-Control": NO_STORE }
        : { "Cache-Control": IP_CACHE, ETag: etag, Vary: "Authorization" }),
      ...(state === undefined ? {} : { [DATA_STATE]: state }),
    });
  };
  return Object.fromEntries(LOOKUPS.map((lookup) => [lookup, template(lookup)])) as Record<
    Lookup,
    AnswerHeaders
  >;
}
