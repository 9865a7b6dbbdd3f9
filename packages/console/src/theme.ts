// theme.ts: applies the color scheme that the user chose, before the page is drawn.
//
// note files.ts puts it into the page's head as a classic script: as a module it would run after the first frame, which
//      would flash in the system's colors. It is kept in localStorage, bound to the port.

{
  const KEY = "inkling-console-theme";
  const apply = () => {
    const theme = localStorage.getItem(KEY);
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  apply();
  addEventListener("storage", apply); // chosen in another tab
}
