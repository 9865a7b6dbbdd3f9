// form.js: checks the email field when the visitor leaves it. Without an answer, the form works without this check.

const field = document.querySelector("#email");
const hint = document.querySelector("#hint");

field.addEventListener("input", () => show({ ok: true }));
field.addEventListener("change", async () => {
  const email = field.value;
  if (email === "") return;
  try {
    const response = await fetch("/check-email", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email }),
    });
    // The visitor may have changed the address since then.
    if (response.ok && field.value === email) show(await response.json());
  } catch {
    // The server checks again when the form is sent.
  }
});

function show({ ok, message = "" }) {
  hint.textContent = message;
  field.setCustomValidity(ok ? "" : message);
}
