// headers.ts: the visitor of a request of which the headers alone are known, and no connection.
//
// note The address is known only from a proxy in front, counted by number, because there is nothing to compare networks
//      with; or from a header of the platform.

import { wrong } from "../options.ts";
import type { AddressOptions } from "./visitor.ts";

/** A Request, a NextRequest, or `{ headers: await headers() }`. */
export interface WithHeaders {
  readonly headers: { get(name: string): string | null };
}

/** How the address is found: one of both. */
export type HasAddress<R> =
  | { readonly trustProxy: number }
  | { readonly address: (request: R) => string | undefined };

/** @throws TypeError */
export function requireProxies<R>({ address, trustProxy }: AddressOptions<R>): void {
  if (address === undefined && !(typeof trustProxy === "number" && trustProxy > 0))
    throw wrong(
      "trustProxy",
      "must be the number of proxies in front of the application, at least 1; or set `address`",
    );
}

export const headerFacts = ({ headers }: WithHeaders) => ({
  peer: undefined,
  forwardedFor: headers.get("x-forwarded-for"),
});
