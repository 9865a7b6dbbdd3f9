// events.ts: what becomes of a release, for the log.

export type ReleaseEvent =
  /** @param wanted the one that should answer, where that is another */
  | {
      readonly type: "serving";
      readonly name: string;
      readonly before: string | undefined;
      readonly wanted: string | undefined;
    }
  /** No sound release is left: lookups are refused. */
  | { readonly type: "none"; readonly before: string | undefined; readonly wanted: string | undefined }
  /** Read in full, and continues answering. */
  | { readonly type: "verified"; readonly name: string }
  /** The wanted one answers: what `refused` names is in the way no more. */
  | { readonly type: "refusal-over"; readonly name: string; readonly refused: string }
  /** It could not be verified for now, and continues answering. */
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
  /** No mark could be written: the next start verifies before it answers. */
  | { readonly type: "unmarked"; readonly name: string; readonly reason: string }
  | { readonly type: "watch-failed"; readonly reason: string };
