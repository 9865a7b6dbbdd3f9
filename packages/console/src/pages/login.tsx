// login.tsx: exchanges an admin token for a session.

import { useEffect, useRef } from "preact/hooks";
import type { AdminSession } from "../answers.ts";
import { logIn } from "../api.ts";
import { Problem } from "../components/basics.tsx";
import { Field, Form, TextField, textOf } from "../components/form.tsx";
import { ThemeChoice } from "../components/theme-choice.tsx";

function submitLogin(values: FormData): Promise<AdminSession> {
  const author = textOf(values, "author");
  return logIn({ token: textOf(values, "token"), ...(author && { author }) });
}

/** @param note why the user has to log in */
export function LoginPage({ note, onLogin }: { note: string; onLogin: (session: AdminSession) => void }) {
  const token = useRef<HTMLInputElement>(null);
  const focus = () => token.current?.focus();
  useEffect(() => {
    document.title = "Log in: Inkling console";
    focus();
  }, []);
  const submit = (values: FormData) =>
    submitLogin(values).then(onLogin, (error) => {
      focus();
      throw error;
    });
  const password = { name: "token", type: "password", autocomplete: "current-password" } as const;
  return (
    <>
      <header>
        <p class="brand">Inkling</p>
        <ThemeChoice />
      </header>
      <main>
        <section class="card login">
          <h1>Log in</h1>
          <p>
            Use your admin token, or the root token that was printed at the first start. To create a token,
            run <code>inkling admin-tokens create</code>.
          </p>
          {note && <Problem text={note} />}
          <Form action="Log in" submit={submit}>
            <Field label="Admin token">
              <input ref={token} required placeholder="ink_admin_…" {...password} />
            </Field>
            <TextField
              label="Your name"
              note="For the audit trail. Leave it empty if your token has a name."
              name="author"
              maxLength={80}
            />
          </Form>
        </section>
      </main>
    </>
  );
}
