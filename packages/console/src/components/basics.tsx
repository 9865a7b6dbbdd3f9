// basics.tsx: the small parts that every page is made of.

import type { ComponentChildren } from "preact";
import { formatExact, formatRelative } from "../format.ts";
import { notify } from "../hooks.ts";

export type Kind = "good" | "warn" | "bad" | "faint" | "plain";

interface CardProps {
  readonly title?: ComponentChildren;
  /** As wide as the page, where cards stand side by side. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

export const Card = ({ title, isWide, children }: CardProps) => (
  <section class={isWide ? "card wide" : "card"}>
    {title && <h2>{title}</h2>}
    {children}
  </section>
);

export const Badge = ({ kind, children }: { kind: Kind; children: ComponentChildren }) => (
  <span class={`badge ${kind}`}>{children}</span>
);

/** "3 hours ago", with the exact time on demand. */
export const RelativeTime = ({ iso }: { iso: string }) => (
  <time dateTime={iso} title={formatExact(iso)}>
    {formatRelative(iso)}
  </time>
);

export const ExternalLink = ({ href, children }: { href: string; children: ComponentChildren }) => (
  <a href={href} rel="noreferrer noopener" target="_blank">
    {children}
  </a>
);

/** Text whose addresses are links, as some licences require. */
export function Linked({ text }: { text: string }) {
  const parts = text.split(/(https:\/\/[^\s,;)]+)/);
  return (
    <>
      {parts.map((part, i) =>
        i % 2 === 1 ? (
          <ExternalLink key={part} href={part}>
            {part}
          </ExternalLink>
        ) : (
          part
        ),
      )}
    </>
  );
}

type Definition = readonly [name: string, content: ComponentChildren];

/** Names with what they mean; rows without content are omitted. */
export const Definitions = ({ rows }: { rows: readonly Definition[] }) => (
  <dl>
    {rows.map(([name, content]) =>
      content ? (
        <>
          <dt>{name}</dt>
          <dd>{content}</dd>
        </>
      ) : null,
    )}
  </dl>
);

/** Preformatted text that can be scrolled by keyboard. */
export const Code = ({ children }: { children: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs keyboard focus (axe)
  <pre tabIndex={0}>{children}</pre>
);

export const Problem = ({ children }: { children: ComponentChildren }) =>
  children ? (
    <p class="problem" role="alert">
      {children}
    </p>
  ) : null;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => notify("Copied."),
      () => notify("The browser does not allow copying: select the text and copy it.", "bad"),
    );
  return (
    <button type="button" class="quiet" onClick={copy}>
      {label}
    </button>
  );
}
