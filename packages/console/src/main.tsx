// main.tsx: the session: the login, or the console.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, api, LOGGED_OUT } from "./api.ts";
import { Messages } from "./components/messages.tsx";
import { Frame } from "./frame.tsx";
import { messageOf, useWindowEvent } from "./hooks.ts";
import { LoginPage } from "./pages/login.tsx";

/** `note`: why the user has to log in. */
type Session = { readonly state: "checking" | "in" } | { readonly state: "out"; readonly note: string };

function App() {
  const [session, setSession] = useState<Session>({ state: "checking" });
  const enter = () => setSession({ state: "in" });
  const leave = (note = "") => setSession({ state: "out", note });
  useEffect(() => {
    const isLoggedOut = (error: unknown) => error instanceof ApiError && error.status === 401;
    api("session").then(enter, (error) => leave(isLoggedOut(error) ? "" : messageOf(error)));
  }, []);
  useWindowEvent(LOGGED_OUT, () => leave("Your session has ended: log in again."));
  const logOut = () =>
    api("session", { method: "DELETE" }).then(
      () => leave(),
      () => leave(),
    );
  return (
    <>
      {session.state === "in" && <Frame logOut={logOut} />}
      {session.state === "out" && <LoginPage note={session.note} onLogin={enter} />}
      <Messages />
    </>
  );
}

render(<App />, document.body);
