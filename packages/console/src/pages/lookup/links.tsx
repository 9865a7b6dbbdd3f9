// links.tsx: values that can be looked up, as links to their answers.

/** A network of one address leads to that address. */
export function LookupLink({ value }: { value: string }) {
  const [address = "", bits] = value.split("/");
  const isOne = bits === (address.includes(":") ? "128" : "32");
  const subject = isOne ? address : value;
  return <a href={`#/lookup/${encodeURIComponent(subject)}`}>{subject}</a>;
}
