// main.tsx: the session: the login, or the console.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, api, LOGGED_OUT } from "./api.ts";
import { Messages } from "./components/messages.tsx";
import { Frame } from "./frame.tsx";
import { messageOf } from "./hooks.ts";
import { LoginPage } from "./pages/login.tsx";

type Session = { readonly state: "checking" | "in" } | { readonly state: "out"; readonly note?: string };

function App() {
  const [session, setSession] = useState<Session>({ state: "checking" });
  const enter = () => setSession({ state: "in" });
  useEffect(() => {
    api("session").then(enter, (error: unknown) =>
      setSession({
        state: "out",
        ...(error instanceof ApiError && error.status === 401 ? {} : { note: messageOf(error) }),
      }),
    );
    const leave = () =>
      setSession((old) =>
        old.state === "in" ? { state: "out", note: "Your session has ended: log in again." } : old,
      );
    addEventListener(LOGGED_OUT, leave);
    return () => removeEventListener(LOGGED_OUT, leave);
  }, []);
  const logOut = async () => {
    await api("session", { method: "DELETE" }).catch(() => {}); // the page is left in any case
    setSession({ state: "out" });
  };
  return (
    <>
      {session.state === "in" && <Frame logOut={logOut} />}
      {session.state === "out" && <LoginPage note={session.note} onLogin={enter} />}
      <Messages />
    </>
  );
}

render(<App />, document.body);
