// ascii.ts: converts text with one byte per character to bytes and back. The engine uses no TextEncoder, because
// TextEncoder is not part of the language.

export function ascii(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export function asciiText(bytes: Uint8Array): string {
  if (bytes.length <= 1024) return String.fromCharCode.apply(null, bytes as unknown as number[]);
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}
