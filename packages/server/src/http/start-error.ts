// start-error.ts: defines the error that is thrown if a server cannot start.

/** The server cannot start. `hint` states what to do next. */
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
