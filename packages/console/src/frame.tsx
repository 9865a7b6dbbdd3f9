// frame.tsx: shows the header, the navigation, the current page, and the notices that licences require.

import type { RefObject } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { call } from "./api.ts";
import { Button, Card, Linked, RelativeTime } from "./components/basics.tsx";
import { ThemeChoice } from "./components/theme-choice.tsx";
import { formatDuration } from "./format.ts";
import { type Loading, useLoad, useRoute } from "./hooks.ts";
import { PAGES } from "./pages.tsx";
import { SessionContext } from "./session.ts";

const NOT_FOUND = {
  id: "not-found",
  title: "No such page",
  Page: () => (
    <Card>
      <p>
        The console has no page at <code>{location.hash}</code>. It has these pages:
      </p>
      <ul class="links">
        {PAGES.map(({ id, title }) => (
          <li key={id}>
            <a href={`#/${id}`}>{title}</a>
          </li>
        ))}
      </ul>
    </Card>
  ),
};

/**
 * Milliseconds between two loads of the status. Builds and other operators change the release at any time, and after a
 * build, the server verifies the new release before it uses it.
 */
const REFRESH_MS = 30_000;

async function loadStatus(signal: AbortSignal) {
  const [overview, { feeds }] = await Promise.all([
    call("GET data", {}, signal),
    call("GET data/feeds", {}, signal),
  ]);
  const used = feeds.filter(({ state }) => state === "loaded");
  return { overview, notices: [...new Set(used.flatMap(({ attribution }) => attribution ?? []))] };
}
type Status = Awaited<ReturnType<typeof loadStatus>>;

export function Frame({ logOut }: { logOut: () => void }) {
  const { page, rest } = useRoute();
  const { id, title, Page } = PAGES.find((row) => row.id === page) ?? NOT_FOUND;
  const status = useLoad(loadStatus, [], REFRESH_MS);
  const main = useRef<HTMLElement>(null);
  const [menuAt, setMenuAt] = useState<string>();
  const isMenuOpen = menuAt === location.hash; // opening another page closes it
  useKeptFocus(main);
  usePageChange(`${id}/${rest.startsWith("?") ? "" : rest}`, title, main);
  return (
    <>
      {/* A button, not a link to "#main", because the part after "#" names the page. */}
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header>
        <p class="brand">
          Inkling <ReleaseStatus from={status} />
        </p>
        <button
          type="button"
          class="quiet menu"
          aria-expanded={isMenuOpen}
          aria-controls="pages"
          onClick={() => setMenuAt(isMenuOpen ? undefined : location.hash)}
        >
          Menu
        </button>
        <nav id="pages" aria-label="Pages" class={isMenuOpen ? "open" : ""}>
          {PAGES.map((row) => (
            <a key={row.id} href={`#/${row.id}`} aria-current={row.id === id ? "page" : undefined}>
              {row.title}
            </a>
          ))}
        </nav>
        <span class="actions">
          <SignedIn />
          <ThemeChoice />
          <Button text="Log out" onClick={logOut} />
        </span>
      </header>
      <main ref={main} tabIndex={-1}>
        <h1 tabIndex={-1}>{title}</h1>
        <Page key={id} rest={rest} onRelease={status.reload} />
      </main>
      <footer>
        {status.data?.notices.map((text) => (
          <Linked key={text} text={text} />
        ))}
      </footer>
    </>
  );
}

function SignedIn() {
  const session = useContext(SessionContext);
  return (
    <span class="faint">
      {session?.author}
      {session && session.role !== "admin" && `, role ${session.role}`}
    </span>
  );
}

function ReleaseStatus({ from: { data, error } }: { from: Loading<Status> }) {
  if (error !== undefined) return <span class="bad">status unknown</span>;
  if (data === undefined) return null;
  const { release, missing, ages } = data.overview;
  if (release === null) return <span class="bad">no data yet</span>;
  return (
    <>
      <span class="faint">
        built <RelativeTime iso={release.created_at} />
        {ages.length > 0 &&
          `; oldest data: ${formatDuration(Math.max(...ages.map(({ seconds }) => seconds)))}`}
      </span>
      {missing.length > 0 && <span class="bad"> without {missing.join(", ")}</span>}
    </>
  );
}

type Main = RefObject<HTMLElement | null>;
const focusHeading = (main: Main) => main.current?.querySelector("h1")?.focus({ preventScroll: true });

/**
 * Moves the focus to the page's heading if the focused element is removed. The browser would move it to the start of
 * the document.
 */
function useKeptFocus(main: Main): void {
  useEffect(() => {
    let focused: Element | null = null;
    const observer = new MutationObserver(() => {
      if (focused?.isConnected === false && document.activeElement === document.body) focusHeading(main);
    });
    main.current?.addEventListener("focusin", () => {
      focused = document.activeElement;
    });
    if (main.current) observer.observe(main.current, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, []);
}

/**
 * After a change of page, sets the title, scrolls to the top, and focuses the heading unless the focus is already in
 * the page. A different query of the same page does not count as a change of page.
 */
function usePageChange(key: string, title: string, main: Main): void {
  const shown = useRef(key);
  useEffect(() => {
    document.title = `${title}: Inkling console`;
    if (shown.current === key) return;
    shown.current = key;
    scrollTo(0, 0);
    if (!main.current?.contains(document.activeElement)) focusHeading(main);
  }, [key]);
}
