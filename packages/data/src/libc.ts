// libc.ts: calls C library functions that the runtime does not offer. The functions require Linux and Bun, but Node
// also loads this file.

import type { FFIFunction } from "bun:ffi";

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** Returns Bun's module for calling native functions; undefined on Node. */
export const loadFfi = () => process.getBuiltinModule?.("bun:ffi") as typeof import("bun:ffi") | undefined;

/** @returns the functions; undefined if no C library can be loaded */
export function openLibc<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  const ffi = loadFfi();
  if (process.platform !== "linux" || ffi === undefined) return undefined;
  for (const name of LIBRARIES) {
    try {
      return ffi.dlopen(name, functions).symbols;
    } catch {
      // this system has a different C library, so try the next name
    }
  }
  return undefined;
}
