// crc32.ts: CRC-32 (IEEE 802.3, as in zlib), for segment checksums and API key checksums.
//
// cost eight bytes a step ("slicing by 8"); a plain byte loop takes about four times as long

const TABLES = Array.from({ length: 8 }, () => new Uint32Array(256));
for (let n = 0; n < 256; n++) {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  TABLES[0]![n] = c >>> 0;
}
for (let t = 1; t < 8; t++) {
  for (let n = 0; n < 256; n++) {
    const c = TABLES[t - 1]![n]!;
    TABLES[t]![n] = TABLES[0]![c & 255]! ^ (c >>> 8);
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
];

/**
 * CRC-32 of `bytes`, as an unsigned 32-bit number.
 * @param seed the CRC of the preceding bytes, to continue it
 */
export function crc32(bytes: Uint8Array, seed = 0): number {
  let c = ~seed;
  let i = 0;
  const whole = bytes.length - (bytes.length % 8);
  for (; i < whole; i += 8) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    c =
      T7[c & 255]! ^
      T6[(c >>> 8) & 255]! ^
      T5[(c >>> 16) & 255]! ^
      T4[c >>> 24]! ^
      T3[bytes[i + 4]!]! ^
      T2[bytes[i + 5]!]! ^
      T1[bytes[i + 6]!]! ^
      T0[bytes[i + 7]!]!;
  }
  for (; i < bytes.length; i++) c = T0[(c ^ bytes[i]!) & 255]! ^ (c >>> 8);
  return ~c >>> 0;
}
