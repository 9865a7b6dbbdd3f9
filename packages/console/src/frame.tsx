// frame.tsx: shows the header, the navigation, the current page, and the notices that licences require.

import { sum } from "d3-array";
import type { RefObject } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Feed } from "./answers.ts";
import { Button, Card, Linked, RelativeTime } from "./components/basics.tsx";
import { ThemeChoice } from "./components/theme-choice.tsx";
import { formatDuration } from "./format.ts";
import { type Loading, ObjectNameContext, useLoad, useRoute, useWindowEvent } from "./hooks.ts";
import { GROUPS, PAGES } from "./pages.tsx";
import { placeOfId } from "./places.ts";
import { SessionContext } from "./session.ts";
import { type Concern, loadStatus, type Status, StatusContext } from "./status.tsx";

const NOT_FOUND = {
  id: "not-found",
  title: "No such page",
  Page: () => (
    <Card>
      The console has no page at <code>{location.hash}</code>.
    </Card>
  ),
};

/**
 * Milliseconds between two loads of the status. Builds and other operators change the release at any time, and after a
 * build, the server verifies the new release before it uses it.
 */
const REFRESH_MS = 30_000;

export function Frame({ logOut }: { logOut: () => void }) {
  const { page, rest } = useRoute();
  const { id, title, Page } = PAGES.find((row) => row.id === page) ?? NOT_FOUND;
  const object = rest === "" || rest.startsWith("?") ? undefined : rest;
  const [named, setNamed] = useState<{ readonly rest: string; readonly name: string }>();
  const name = named?.rest === rest ? named.name : undefined;
  const setName = useCallback((name: string) => setNamed({ rest, name }), [rest]);
  const status = useLoad(loadStatus, [], REFRESH_MS);
  const main = useRef<HTMLElement>(null);
  const [menuAt, setMenuAt] = useState<string>();
  const isMenuOpen = menuAt === location.hash; // opening another page closes it
  const { data } = status;
  const concerns = data?.concerns ?? [];
  useKeptFocus(main);
  useKeys(main);
  usePageChange(`${id}/${object ?? ""}`, name ?? object ?? title, main);
  return (
    <>
      {/* A button, not a link to "#main", because the part after "#" identifies the page. */}
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header>
        <p class="brand">
          Inkling <ReleaseStatus from={status} />
        </p>
        <Search feeds={[...(data?.feeds ?? []), ...(data?.unused ?? [])]} />
        <button
          type="button"
          class="quiet menu"
          aria-expanded={isMenuOpen}
          aria-controls="pages"
          onClick={() => setMenuAt(isMenuOpen ? undefined : location.hash)}
        >
          Menu <Count of={concerns} />
        </button>
        <span class="actions">
          <SignedIn />
          <ThemeChoice />
          <Button text="Log out" onClick={logOut} />
        </span>
      </header>
      <div class="body">
        <nav id="pages" aria-label="Pages" class={isMenuOpen ? "open" : ""}>
          {[undefined, ...GROUPS].map((group) => (
            <div key={group}>
              {group && <p id={`group-${group}`}>{group}</p>}
              <ul aria-labelledby={group && `group-${group}`}>
                {PAGES.filter((row) => row.group === group).map((row) => (
                  <li key={row.id}>
                    <a href={`#/${row.id}`} aria-current={row.id === id ? "page" : undefined}>
                      {row.title}
                    </a>
                    <Count of={concerns.filter(({ page }) => page === row.id)} />
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <main ref={main} tabIndex={-1}>
          <h1 tabIndex={-1}>{name ?? title}</h1>
          <StatusContext.Provider value={status}>
            <ObjectNameContext.Provider value={setName}>
              <Page key={id} rest={rest} />
            </ObjectNameContext.Provider>
          </StatusContext.Provider>
        </main>
      </div>
      <footer>
        {[...new Set(data?.feeds.flatMap(noticeOf))].map((text) => (
          <Linked key={text} text={text} />
        ))}
      </footer>
    </>
  );
}

const noticeOf = ({ state, attribution }: Feed) => (state === "loaded" ? (attribution ?? []) : []);

/** How many objects need attention. Shows nothing if there is none. */
function Count({ of: concerns }: { of: readonly Concern[] }) {
  const count = sum(concerns, (concern) => concern.count ?? concern.links.length);
  if (count === 0) return null;
  const kind = concerns.some((concern) => concern.kind === "bad") ? "bad" : "warn";
  return (
    <span class={`badge ${kind}`} role="img" aria-label={`${count} to look at`}>
      {count}
    </span>
  );
}

interface Named {
  readonly id: string;
}

/** Returns the address of the thing with an id, or of what is known of any other value. */
function placeOf(value: string, feeds: readonly Named[]): string {
  const isFeed = feeds.some(({ id }) => id === value);
  return placeOfId(value) ?? `${isFeed ? "data" : "lookup"}/${encodeURIComponent(value)}`;
}

function Search({ feeds }: { feeds: readonly Named[] }) {
  const submit = (event: Event) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements[0] as HTMLInputElement;
    const value = field.value.trim();
    if (value !== "") location.hash = `#/${placeOf(value, feeds)}`;
    field.value = "";
    field.blur(); // the key "/" would be text
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: Preact's types have no <search>
    <form role="search" onSubmit={submit}>
      <input
        id="search"
        type="search"
        aria-label="Look up anything"
        aria-keyshortcuts="/"
        placeholder="Address, network, domain, email, ref, id  ( / )"
        autocomplete="off"
        spellcheck={false}
        maxLength={400}
      />
    </form>
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

/** What receives text, so that letters are not shortcuts there. */
const TEXTS = "input, textarea, select, [contenteditable]";

/**
 * A key clicks the button, or focuses the field, that has it as `aria-keyshortcuts`. On pages without such buttons, `j`
 * and `k` focus the next and the previous row of a list.
 */
function useKeys(main: Main): void {
  useWindowEvent("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, repeat } = event as KeyboardEvent;
    const [target] = event.composedPath();
    const isText = target instanceof Element && target.closest(TEXTS)?.matches(":not([type=checkbox])");
    if (
      event.defaultPrevented ||
      ctrlKey ||
      metaKey ||
      altKey ||
      isText ||
      document.querySelector("dialog[open]")
    )
      return;
    const control = document.querySelector<HTMLElement>(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
    if (control) {
      event.preventDefault(); // a field would receive the letter
      if (control instanceof HTMLInputElement) control.focus();
      else if (!repeat) control.click();
      return;
    }
    if (key !== "j" && key !== "k") return;
    const rows = [...(main.current?.querySelectorAll("tbody tr:has(a, button)") ?? [])];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? 0 : at + (key === "j" ? 1 : -1)];
    next?.querySelector<HTMLElement>("a, button")?.focus();
  });
}

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
    if (shown.current === key) return;
    shown.current = key;
    scrollTo(0, 0);
    if (!main.current?.contains(document.activeElement)) focusHeading(main);
  }, [key]);
  useEffect(() => {
    document.title = `${title}: Inkling console`;
  }, [title]);
}
