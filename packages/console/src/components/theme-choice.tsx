// theme-choice.tsx: offers the choice between light, dark and the system's theme, which theme.ts keeps and applies.

import { useState } from "preact/hooks";
import { Select } from "./form.tsx";

const THEMES = [
  ["", "◐ System"],
  ["light", "☀ Light"],
  ["dark", "☾ Dark"],
] as const;

export function ThemeChoice() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme ?? "");
  const choose = (chosen: string) => {
    setTheme(chosen);
    dispatchEvent(new CustomEvent("theme", { detail: chosen }));
  };
  return <Select class="theme" aria-label="Theme" options={THEMES} value={theme} onChoose={choose} />;
}
