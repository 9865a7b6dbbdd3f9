// headers.ts: finds a request's visitor from the headers only, without the connection.
//
// The address comes from one of the platform's headers, or from the proxies in front of the application. The proxies
// must be given as a number, because there is no connection address to compare with networks.

import { wrong } from "../options.ts";
import type { AddressOptions } from "./visitor.ts";

/** A Request, a NextRequest, or `{ headers: await headers() }`. */
export interface WithHeaders {
  readonly headers: { get(name: string): string | null };
}

/** How the address is found. At least one of the two is required. */
export type HasAddress<R> =
  | { readonly trustProxy: number }
  | { readonly address: (request: R) => string | undefined };

/** @throws TypeError if neither is set */
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
