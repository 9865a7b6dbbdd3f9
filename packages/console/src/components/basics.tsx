// basics.tsx: defines the small parts that all pages share.

import { keysOf } from "@inkling/contract";
import { type ComponentChildren, Fragment } from "preact";
import { formatExact, formatRelative } from "../format.ts";
import { notify } from "../hooks.ts";

export type Kind = "good" | "warn" | "bad" | "faint";

interface CardProps {
  readonly title?: ComponentChildren;
  /** As wide as the page, even if other cards are side by side; or hidden without a table or a problem. */
  readonly class?: "wide" | "optional";
  readonly children: ComponentChildren;
}

export const Card = ({ title, class: kind, children }: CardProps) => (
  <section class={kind ? `card ${kind}` : "card"}>
    {title && <h2>{title}</h2>}
    {children}
  </section>
);

interface KindProps {
  readonly kind: Kind;
  readonly children: ComponentChildren;
}

export const Badge = ({ kind, children }: KindProps) => <span class={`badge ${kind}`}>{children}</span>;

/** Any other state is neither good nor bad. */
const STATES = {
  good: ["active", "allow", "delivered", "legitimate", "live", "loaded", "ready"],
  warn: ["challenge", "review", "sandbox", "stale", "waiting"],
  bad: [
    "deny",
    "disabled",
    "failing",
    "fraud",
    "given up",
    "held",
    "missing",
    "not-ready",
    "silent",
    "wrong",
  ],
} as const;
const kindOf = (state: string): Kind =>
  keysOf(STATES).find((kind) => (STATES[kind] as readonly string[]).includes(state)) ?? "faint";

/** A state, an action or an outcome: the same word has the same colour on every page. */
export const State = ({ of }: { of: string }) => <Badge kind={kindOf(of)}>{of.replace(/[-_]/g, " ")}</Badge>;

export const Notice = ({ kind, children }: KindProps) => <div class={`notice ${kind}`}>{children}</div>;

/** A problem that screen readers announce when it appears. */
export const Problem = ({ text }: { text: string }) => (
  <p class="problem" role="alert">
    {text}
  </p>
);

/** A relative time such as "3 hours ago", with the exact time as its title. */
export const RelativeTime = ({ iso }: { iso: string }) => (
  <time dateTime={iso} title={formatExact(iso)}>
    {formatRelative(iso)}
  </time>
);

export const ExternalLink = ({ href, text = href }: { href: string; text?: string }) => (
  <a href={href} rel="noreferrer noopener" target="_blank">
    {text}
  </a>
);

/** Links, separated by commas. */
export const LinkList = ({ links }: { links: readonly (readonly [text: string, href: string])[] }) => (
  <>
    {links.map(([text, href], i) => (
      <span key={text}>
        {i > 0 && ", "}
        <a href={href}>{text}</a>
      </span>
    ))}
  </>
);

/** Text with its URLs as links, as some licences require. */
export const Linked = ({ text }: { text: string }) => (
  <span>
    {text
      .split(/(https:\/\/[^\s,;)]+)/)
      .map((part, i) => (i % 2 === 1 ? <ExternalLink key={part} href={part} /> : part))}
  </span>
);

/** Text in which the parts between backticks are code. */
export const Marked = ({ text }: { text: string }) => (
  <span>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</span>
);

type Definition = readonly [name: string, content: ComponentChildren];

/** A list of names, each with its content. Rows without content are omitted. */
export const Definitions = ({ rows }: { rows: readonly Definition[] }) => (
  <dl>
    {rows
      .filter(([, content]) => content)
      .map(([name, content]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{content}</dd>
        </Fragment>
      ))}
  </dl>
);

/** Preformatted text that can be scrolled with the keyboard. */
export const Code = ({ text }: { text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs keyboard focus (axe)
  <pre tabIndex={0}>{text}</pre>
);

interface ButtonProps {
  readonly text: string;
  /** A label for screen readers, needed if several buttons have the same text. */
  readonly label?: string;
  /** "quiet" or "danger"; "" for the main button. */
  readonly class?: "quiet" | "danger" | "" | undefined;
  readonly isBusy?: boolean;
  /** The key that clicks the button (frame.tsx). */
  readonly shortcut?: string | undefined;
  /** Whether it is the chosen one of several buttons. */
  readonly isPressed?: boolean;
  /** Why the button cannot be used now. */
  readonly refusal?: string | undefined;
  readonly onClick: () => void;
}

export const Button = (props: ButtonProps) => {
  const { text, label, class: kind = "quiet", isBusy = false, shortcut, isPressed, refusal, onClick } = props;
  return (
    <button
      type="button"
      class={kind}
      aria-label={label}
      aria-busy={isBusy}
      aria-pressed={isPressed}
      aria-keyshortcuts={shortcut}
      disabled={refusal !== undefined}
      title={refusal}
      onClick={onClick}
    >
      {shortcut ? `${text} (${shortcut})` : text}
    </button>
  );
};

export function CopyButton({ text, label }: { text: string; label: string }) {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => notify("Copied."),
      () => notify("The browser does not allow copying. Select the text and copy it yourself.", "bad"),
    );
  return <Button text={label} onClick={copy} />;
}
