// nearest.ts: "did you mean …?", as the command line asks it.

export { editDistance, nearest } from "@inkling/engine";
