// theme-choice.tsx: offers the choice between light, dark and the system's theme. theme.ts reads it when a page opens.

import { useState } from "preact/hooks";
import { Select } from "./form.tsx";

const KEY = "inkling-console-theme";
const THEMES = [
  ["", "◐ System"],
  ["light", "☀ Light"],
  ["dark", "☾ Dark"],
] as const;

export function ThemeChoice() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme ?? "");
  const choose = (chosen: string) => {
    setTheme(chosen);
    if (chosen) localStorage.setItem(KEY, chosen);
    else localStorage.removeItem(KEY);
    dispatchEvent(new Event("storage")); // theme.ts listens for this event; the browser only notifies other tabs
  };
  return <Select class="theme" aria-label="Theme" options={THEMES} value={theme} onChoose={choose} />;
}
