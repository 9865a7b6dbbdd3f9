// visitor.ts: who sent a request, for the middleware of every framework.
//
// in   a client, how the visitor's address is found, a request
// out  Visitor: the address, and its look-ups, each made once for a request, and only when asked for
// err  TypeError for options that are wrong; look-ups throw what the client's throw, and ADDRESS_UNKNOWN

import type { Answer } from "./answers.ts";
import { callerAddress, isLoopback, type ReadTrust, readTrust, type TrustProxy } from "./caller-address.ts";
import { InklingError } from "./errors.ts";
import { parseIp } from "./ip.ts";
import { wrong } from "./options.ts";
import type { Unavailable } from "./unavailable.ts";

/** Who sent a request. Of a client whose `onUnavailable` is "throw" no look-up gives `Unavailable`. */
export interface Visitor {
  /** In normal form; undefined when it cannot be told. */
  readonly address: string | undefined;
  /** Where the visitor is; undefined when no data has a place for the address. */
  geolocate(): Promise<Answer<"geolocate"> | undefined | Unavailable>;
  /** Whether the visitor's address can be trusted. */
  reputation(): Promise<Answer<"reputation"> | Unavailable>;
}

/** What a visitor needs of the client. */
export interface VisitorLookups {
  geolocate(ip: string): Promise<Answer<"geolocate"> | undefined | Unavailable>;
  reputation(ip: string): Promise<Answer<"reputation"> | Unavailable>;
}

/** @typeParam R the framework's request */
export interface VisitorOptions<R> {
  /**
   * The proxies in front of the application: how many, or which networks. 0, the default: none, X-Forwarded-For is
   * not read.
   */
  readonly trustProxy?: TrustProxy;
  /** Finds the visitor's address instead; for platforms with a header of their own. */
  readonly address?: (request: R) => string | undefined;
  /** On a developer's machine: the address that visitors from this machine itself count as. */
  readonly loopback?: string;
  /** Begins both look-ups as soon as the request is there, instead of when they are asked for. */
  readonly eager?: boolean;
}

/** What a framework tells of a request. */
export interface RequestFacts {
  readonly peer: string | undefined;
  readonly forwardedFor: string | readonly string[] | null | undefined;
}

/** Makes the visitor of each request. */
export function visitors<R>(
  client: VisitorLookups,
  options: VisitorOptions<R>,
  factsOf: (request: R) => RequestFacts,
): (request: R) => Visitor {
  const trust = readTrust(options.trustProxy ?? 0);
  const { loopback } = options;
  if (loopback !== undefined && parseIp(loopback) === undefined)
    throw wrong("loopback", "must be an IP address");
  const { address: told } = options;
  const found =
    told !== undefined
      ? (request: R) => callerAddress(told(request), undefined, 0)
      : (request: R) => fromFacts(factsOf(request), trust);
  return (request) => {
    const address = found(request);
    const counted =
      address !== undefined && loopback !== undefined && isLoopback(address) ? loopback : address;
    const visitor = new RequestVisitor(client, counted);
    if (options.eager === true) visitor.begin();
    return visitor;
  };
}

function fromFacts({ peer, forwardedFor }: RequestFacts, trust: ReadTrust): string | undefined {
  const header = Array.isArray(forwardedFor)
    ? forwardedFor.join(",")
    : (forwardedFor as string | null | undefined);
  return callerAddress(peer, header ?? undefined, trust);
}

class RequestVisitor implements Visitor {
  readonly address: string | undefined;
  readonly #client: VisitorLookups;
  #place: ReturnType<Visitor["geolocate"]> | undefined;
  #reputation: ReturnType<Visitor["reputation"]> | undefined;

  constructor(client: VisitorLookups, address: string | undefined) {
    this.#client = client;
    this.address = address;
  }

  geolocate(): ReturnType<Visitor["geolocate"]> {
    this.#place ??= this.#ask((address) => this.#client.geolocate(address));
    return this.#place;
  }

  reputation(): ReturnType<Visitor["reputation"]> {
    this.#reputation ??= this.#ask((address) => this.#client.reputation(address));
    return this.#reputation;
  }

  /** A failure is told to who asks; if nobody does, to nobody. */
  begin(): void {
    this.geolocate().catch(() => {});
    this.reputation().catch(() => {});
  }

  async #ask<T>(lookUp: (address: string) => Promise<T>): Promise<T> {
    if (this.address === undefined)
      throw new InklingError("ADDRESS_UNKNOWN", "The visitor's address cannot be told");
    return lookUp(this.address);
  }
}
