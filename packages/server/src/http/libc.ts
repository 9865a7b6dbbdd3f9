// libc.ts: calls of the C library that the runtime does not offer. Linux only.

import { dlopen, type FFIFunction } from "bun:ffi";

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** @returns undefined where there is no such library */
export function openLibc<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  if (process.platform !== "linux") return undefined;
  for (const name of LIBRARIES) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // another C library: the next name
    }
  }
  return undefined;
}
