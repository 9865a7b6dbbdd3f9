// login.tsx: exchanges the admin token for a session cookie.

import { useEffect, useRef } from "preact/hooks";
import { ApiError, api, UserError } from "../api.ts";
import { Problem } from "../components/basics.tsx";
import { Field, Form, type FormValues, TextInput } from "../components/form.tsx";

interface LoginProps {
  /** Why the user has to log in. */
  readonly note: string | undefined;
  readonly onLogin: () => void;
}

async function logIn(values: FormValues): Promise<void> {
  const author = values.text("author");
  const body = { token: values.text("token"), ...(author ? { author } : {}) };
  try {
    await api("session", { method: "POST", body });
  } catch (error) {
    const isWrong = error instanceof ApiError && error.code === "TOKEN_INVALID";
    throw isWrong ? new UserError("This is not the admin token.") : error;
  }
}

export function LoginPage({ note, onLogin }: LoginProps) {
  const token = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = "Log in: Inkling console";
    token.current?.focus();
  }, []);
  const submit = async (values: FormValues) => {
    try {
      await logIn(values);
    } catch (error) {
      token.current?.focus();
      throw error;
    }
    onLogin();
  };
  return (
    <main>
      <section class="card login">
        <h1>Log in</h1>
        <p>
          Use the admin token that the first start printed. To create a new one, run{" "}
          <code>inkling admin token rotate</code>.
        </p>
        <Problem>{note}</Problem>
        <Form class="stack" action="Log in" submit={submit}>
          <Field label="Admin token">
            <input
              ref={token}
              name="token"
              type="password"
              required
              autocomplete="current-password"
              placeholder="ink_admin_…"
            />
          </Field>
          <Field label="Your name" note="Optional; recorded in the audit trail.">
            <TextInput name="author" maxLength={80} placeholder="admin API" />
          </Field>
        </Form>
      </section>
    </main>
  );
}
