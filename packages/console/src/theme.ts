// theme.ts: applies the user's color scheme before the page is drawn.
//
// bundle.ts puts this script into the page's head as a classic script. A module would run after the first frame, and
// the page would flash in the system's colors. The choice is kept in localStorage, bound to the port.

{
  const KEY = "inkling-console-theme";
  const apply = () => {
    const theme = localStorage.getItem(KEY);
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  apply();
  addEventListener("storage", apply); // chosen in another tab
  addEventListener("theme", (event) => {
    const { detail: theme } = event as CustomEvent<string>; // chosen in this tab (theme-choice.tsx)
    if (theme === "") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    apply();
  });
}
