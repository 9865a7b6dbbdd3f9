// secrets.tsx: shows a token or secret that the server never shows again.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CopyButton, Notice } from "./basics.tsx";

/** Returns the token or secret in an operation's output; undefined if it has none. */
export function secretIn(output: object): string | undefined {
  const { token, secret } = output as { readonly token?: string; readonly secret?: string };
  return token ?? secret;
}

interface SecretOnceProps {
  readonly secret: string | undefined;
  /** Text that explains what to do next. */
  readonly children?: ComponentChildren;
}

/** Shows nothing without a secret. Otherwise, the page scrolls to it and moves the focus there. */
export function SecretOnce({ secret, children }: SecretOnceProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: "nearest" });
    box.current?.focus({ preventScroll: true });
  }, [secret]);
  if (secret === undefined) return null;
  const what = secret.startsWith("whsec_") ? "secret" : "token";
  return (
    <div class="once" ref={box} tabIndex={-1} role="status">
      <Notice kind="good">
        <p>
          <strong>Copy the {what} now. It is shown only once.</strong>
        </p>
        <p class="actions">
          <code class="token">{secret}</code>
          <CopyButton text={secret} label={`Copy ${what}`} />
        </p>
        {children}
      </Notice>
    </div>
  );
}
