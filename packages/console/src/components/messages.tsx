// messages.tsx: short messages at the bottom of the window; see `notify`.

import { useEffect, useState } from "preact/hooks";
import { MESSAGE, type MessageKind } from "../hooks.ts";

const SHOWN_MS: Readonly<Record<MessageKind, number>> = { good: 5_000, bad: 12_000 };

interface Message {
  readonly text: string;
  readonly kind: MessageKind;
}

export function Messages() {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  useEffect(() => {
    const add = (event: Event) => {
      const message: Message = (event as CustomEvent<Message>).detail;
      setMessages((shown) => [...shown, message]);
      setTimeout(
        () => setMessages((shown) => shown.filter((one) => one !== message)),
        SHOWN_MS[message.kind],
      );
    };
    addEventListener(MESSAGE, add);
    return () => removeEventListener(MESSAGE, add);
  }, []);
  return (
    <div id="messages" role="status" aria-live="polite">
      {messages.map((message) => (
        <p key={message} class={`message ${message.kind}`}>
          {message.text}
        </p>
      ))}
    </div>
  );
}
