// start-error.ts: the error for a server that cannot start.

/** A server cannot start. `hint` says what to do about it. */
export class StartError extends Error {
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.name = "StartError";
    this.code = code;
    this.hint = hint;
  }
}
