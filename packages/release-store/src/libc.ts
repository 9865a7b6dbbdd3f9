// libc.ts: calls of the C library that the runtime does not offer. Linux only; not on Node, which loads this file as well.

import type { FFIFunction } from "bun:ffi";

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** Bun's module for calls of native functions. */
export const loadFfi = () => process.getBuiltinModule?.("bun:ffi") as typeof import("bun:ffi") | undefined;

/** @returns undefined if there is no such library */
export function openLibc<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  const ffi = loadFfi();
  if (process.platform !== "linux" || ffi === undefined) return undefined;
  for (const name of LIBRARIES) {
    try {
      return ffi.dlopen(name, functions).symbols;
    } catch {
      // another C library: the next name
    }
  }
  return undefined;
}
