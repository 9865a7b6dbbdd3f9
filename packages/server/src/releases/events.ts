// events.ts: defines the log events about a release.

export type ReleaseEvent =
  /** `wanted` names the release that should be in use, if it is a different one. */
  | {
      readonly type: "serving";
      readonly name: string;
      readonly before: string | undefined;
      readonly wanted: string | undefined;
    }
  /** No sound release is left, so the server refuses all lookups. */
  | { readonly type: "none"; readonly before: string | undefined; readonly wanted: string | undefined }
  /** The release was read in full and remains in use. */
  | { readonly type: "verified"; readonly name: string }
  /** The wanted release is in use, so the refusal of `refused` is over. */
  | { readonly type: "refusal-over"; readonly name: string; readonly refused: string }
  /** The release cannot be verified at the moment. It remains in use. */
  | {
      readonly type: "unverified";
      readonly name: string;
      readonly reason: string;
      readonly retry_in_ms: number;
    }
  | {
      readonly type: "refused";
      readonly name: string;
      readonly reason: string;
      readonly retry_in_ms?: number;
    }
  /** The server could not write a mark, so the next start verifies the release before it answers. */
  | { readonly type: "unmarked"; readonly name: string; readonly reason: string }
  | { readonly type: "watch-failed"; readonly reason: string };
