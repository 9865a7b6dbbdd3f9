// main.tsx: starts the console: shows the login page or the current page, and messages at the bottom of the window.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { AdminSession } from "./answers.ts";
import { ApiError, api, endSession, hasSession, LOGGED_OUT } from "./api.ts";
import { Frame } from "./frame.tsx";
import { MESSAGE, type Message, messageOf, useWindowEvent } from "./hooks.ts";
import { LoginPage } from "./pages/login.tsx";
import { SessionContext } from "./session.ts";

/** `note` is the reason why the user has to log in. */
type State =
  | { readonly state: "checking" }
  | { readonly state: "in"; readonly session: AdminSession }
  | { readonly state: "out"; readonly note: string };

function App() {
  const [shown, setShown] = useState<State>({ state: "checking" });
  const enter = (session: AdminSession) => setShown({ state: "in", session });
  const leave = (note = "") => setShown({ state: "out", note });
  useEffect(() => {
    if (!hasSession()) return leave();
    const isLoggedOut = (error: unknown) => error instanceof ApiError && error.status === 401;
    api<AdminSession>("session").then(enter, (error) => leave(isLoggedOut(error) ? "" : messageOf(error)));
  }, []);
  useWindowEvent(LOGGED_OUT, () => leave("Your session has ended. Log in again."));
  const logOut = async () => {
    await api("session", { method: "DELETE" }).catch(() => {}); // the session ends here even without an answer
    endSession();
    leave();
  };
  return (
    <>
      {shown.state === "in" && (
        <SessionContext.Provider value={shown.session}>
          <Frame logOut={logOut} />
        </SessionContext.Provider>
      )}
      {shown.state === "out" && <LoginPage note={shown.note} onLogin={enter} />}
      <Messages />
    </>
  );
}

const SHOWN_MS = { good: 5_000, bad: 12_000 };

function Messages() {
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

render(<App />, document.body);
