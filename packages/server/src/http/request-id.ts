// request-id.ts: creates short random ids for requests, for use in logs and responses, and reads the ids that a caller
// sends.
//
// The probability of a duplicate among a million ids is 1/2,000. Cost: Random characters are drawn 4,000 at a time, and
// each id is a slice of that text. Slicing creates one object. Joining pairs of digits would create four objects and
// take 50 ns longer.

const DIGITS = Buffer.from("0123456789abcdefghjkmnpqrstvwxyz", "latin1");
const ID_LENGTH = 10;
const IDS_AT_ONCE = 400;

/** Returns a function that creates ids. @param fill writes random bytes, as crypto.getRandomValues does */
export function requestIds(fill: (bytes: Uint8Array<ArrayBuffer>) => void): () => string {
  const characters = Buffer.alloc(IDS_AT_ONCE * ID_LENGTH);
  let text = "";
  let end = 0;
  return () => {
    if (end === text.length) {
      fill(characters);
      for (let i = 0; i < characters.length; i++) characters[i] = DIGITS[characters[i]! & 31]!; // 32 digits
      text = characters.toString("latin1");
      end = 0;
    }
    end += ID_LENGTH;
    return text.slice(end - ID_LENGTH, end);
  };
}

/** A request's id, and the id of the caller's trace, if it sent one. */
export interface RequestIds {
  readonly request_id: string;
  readonly trace_id: string | null;
}

/** Up to 64 letters, digits, "_" and "-", so that it contains no IP address, email address or token of Inkling. */
const CALLERS_ID = /^(?!.*ink_)[\w-]{1,64}$/;
/** Version 00, a trace id, a parent id and flags (W3C Trace Context, 3.2). Neither id may be all zeros. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Returns the request's id: the caller's `X-Request-Id`, or a new one if there is none that may appear in the log. */
export function requestId(headers: Headers, makeId: () => string): string {
  const sent = headers.get("x-request-id");
  return sent !== null && CALLERS_ID.test(sent) ? sent : makeId();
}

/** Returns the caller's `traceparent`; undefined if there is none or it is invalid. */
export function traceparentOf(headers: Headers): string | undefined {
  const sent = headers.get("traceparent");
  return sent !== null && TRACEPARENT.test(sent) ? sent : undefined;
}

/** @param traceparent a valid one */
export const traceIdOf = (traceparent: string | undefined) => traceparent?.slice(3, 35);
