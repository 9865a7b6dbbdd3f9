// text-file.ts: reads a text file that the user has chosen, and makes the browser save one.

/** Reads UTF-8, or UTF-16 if the first bytes announce it, because spreadsheets write UTF-16. */
export async function readText(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const [a, b] = bytes;
  const isUtf16 = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
  return new TextDecoder(isUtf16 ? (a === 0xff ? "utf-16le" : "utf-16be") : "utf-8").decode(bytes);
}

export function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
