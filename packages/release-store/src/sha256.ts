// sha256.ts: SHA-256 in lower-case hex.

export function sha256Hex(content: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(content).digest("hex");
}
