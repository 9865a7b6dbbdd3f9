// messages.tsx: short messages at the bottom of the window; see `notify`.

import { useState } from "preact/hooks";
import { MESSAGE, type Message, useWindowEvent } from "../hooks.ts";

const SHOWN_MS = { good: 5_000, bad: 12_000 };

export function Messages() {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  useWindowEvent(MESSAGE, (event) => {
    const message = (event as CustomEvent<Message>).detail;
    setMessages((shown) => [...shown, message]);
    setTimeout(() => setMessages((shown) => shown.filter((one) => one !== message)), SHOWN_MS[message.kind]);
  });
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
