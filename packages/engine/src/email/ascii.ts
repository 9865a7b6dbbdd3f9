// ascii.ts: text of one byte a character <-> its bytes. The engine has no TextEncoder: it is no part of the language.

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
