// editor.tsx: implements the rules' editor: CodeMirror with completion, with mistakes marked in place, with the meaning
// of the fact under the pointer, and with each rule's hits beside its first line.
//
// It is in a shadow root, where CodeMirror needs no style element, which the content security policy forbids.

import { autocompletion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentMore, isolateHistory } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { DeclaredFacts, RulesetCheck } from "../../answers.ts";
import { completionsAt } from "./completion.ts";
import { type Fact, factAt } from "./facts.ts";

export type Mistake = RulesetCheck["mistakes"][number];

/** A text beside a line. Lines begin at 1. */
export type LineNote = readonly [line: number, text: string];

interface EditorProps {
  readonly text: string;
  /** The result of the last check. */
  readonly check: RulesetCheck | undefined;
  /** Undefined to keep the notes, which move with their lines. */
  readonly notes: readonly LineNote[] | undefined;
  readonly view: RefObject<EditorView | null>;
  readonly onText: (text: string) => void;
}

const HELP =
  "Ctrl+Space completes, F8 moves to the next mistake, and Tab indents. To leave the editor, press Escape and then Tab.";

export function Editor({ text, check, notes, view, onText }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const write = useRef(onText);
  write.current = onText;
  const declared = useRef<DeclaredFacts>({});
  if (check?.mistakes.length === 0) declared.current = check.facts; // a text with mistakes declares none
  useLayoutEffect(() => {
    const root = host.current!.attachShadow({ mode: "open" });
    const complete = ({ state, pos, explicit }: CompletionContext) => {
      const found = completionsAt(state.sliceDoc(0, pos), declared.current);
      if (found === undefined || (found.word === "" && !explicit)) return null;
      return { from: pos - found.word.length, options: found.options, validFor: /^[\w.-]*$/ };
    };
    const editor = new EditorView({
      doc: text,
      parent: root,
      root,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        StreamLanguage.define(toml),
        syntaxHighlighting(HIGHLIGHTS),
        autocompletion({ override: [complete], icons: false }),
        hoverTooltip(({ state }, pos) => {
          const { from, text: line } = state.doc.lineAt(pos);
          const found = factAt(line, pos - from, declared.current);
          if (found === undefined) return null;
          const create = () => ({ dom: factTip(found.fact) });
          return { pos: from + found.from, end: from + found.to, create };
        }),
        NOTES,
        keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, { key: "Tab", run: indentMore }]),
        keymap.of(defaultKeymap),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": "Ruleset", "aria-description": HELP }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) write.current(state.doc.toString());
        }),
        THEME,
      ],
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  // A layout effect runs before the next key press. A later effect would take back what was typed since the render.
  useLayoutEffect(() => {
    const before = view.current!.state.doc.toString();
    if (before === text) return;
    view.current!.dispatch({ changes: changeOf(before, text), annotations: isolateHistory.of("full") });
  }, [text]);
  useLayoutEffect(() => {
    if (notes !== undefined) view.current!.dispatch({ effects: setNotes.of(notes) });
  }, [notes]);
  useLayoutEffect(() => {
    const { state } = view.current!;
    const diagnostics = (check?.mistakes ?? []).map(({ message, ...place }) => {
      const from = positionOf(state.doc, place);
      const word = /^[\w.]*/.exec(state.sliceDoc(from, state.doc.lineAt(from).to))![0];
      return { from, to: from + word.length, severity: "error", message } as const;
    });
    view.current!.dispatch(setDiagnostics(state, diagnostics));
  }, [check]);
  return (
    <div class="field">
      <div ref={host} />
      <small>{HELP}</small>
    </div>
  );
}

/** Returns the offset of a mistake, in a text that may have changed since the check. */
function positionOf(doc: Text, { line, column }: Pick<Mistake, "line" | "column">): number {
  const { from, to } = doc.line(Math.min(line, doc.lines));
  return Math.min(to, from + column - 1);
}

/** Returns the smallest single change, so that the cursor, and the notes of other lines, keep their places. */
function changeOf(before: string, after: string) {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (same < shorter - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

/** Scrolls a line to the top of the editor, without moving the page or the cursor. Lines begin at 1. */
export function scrollTo(view: EditorView, line: number): void {
  const { doc } = view.state;
  view.scrollDOM.scrollTop = view.lineBlockAt(doc.line(Math.min(line, doc.lines)).from).top;
}

const setNotes = StateEffect.define<readonly LineNote[]>();
const NOTES = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (shown, { changes, effects, state: { doc } }) => {
    const given = effects.find((effect) => effect.is(setNotes));
    if (given === undefined) return shown.map(changes);
    const lines = (given.value as readonly LineNote[]).filter(([line]) => line <= doc.lines);
    return Decoration.set(
      lines.map(([line, note]) =>
        Decoration.line({ attributes: { "data-note": note } }).range(doc.line(line).from),
      ),
    );
  },
  provide: (field) => EditorView.decorations.from(field),
});

function factTip({ expression, type, meaning, values = [] }: Fact): HTMLElement {
  const tip = document.createElement("div");
  tip.className = "cm-fact";
  const some = values.slice(0, 12).join(", ");
  tip.textContent = [
    `${expression}: ${type}`,
    meaning.replaceAll("`", ""),
    ...(some === "" ? [] : [`Values: ${some}${values.length > 12 ? ", …" : ""}`]),
  ].join("\n");
  return tip;
}

/** Moves the cursor to a mistake and scrolls there. */
export function goTo(view: EditorView, mistake: Mistake): void {
  const anchor = positionOf(view.state.doc, mistake);
  view.dispatch({ selection: { anchor }, scrollIntoView: true });
  view.focus();
}

const HIGHLIGHTS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--faint)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool], color: "var(--warn)" },
  { tag: tags.propertyName, color: "var(--accent)" },
]);

/** The console's colours, which follow its theme. */
const THEME = EditorView.theme({
  "&": {
    maxHeight: "36rem",
    border: "1px solid var(--field-line)",
    borderRadius: "var(--radius)",
    background: "var(--ground)",
    fontSize: "0.8125rem",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.25rem" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { background: "var(--ground)", color: "var(--faint)", border: "0" },
  ".cm-tooltip, .cm-panels": { background: "var(--card)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--card)" },
  // not in the text, so that it is never copied
  ".cm-line[data-note]::after": {
    content: "attr(data-note)",
    paddingLeft: "2ch",
    color: "var(--faint)",
    fontFamily: "system-ui, sans-serif",
  },
  ".cm-fact": { maxWidth: "30rem", padding: "0.25rem 0.5rem", whiteSpace: "pre-line" },
  ".cm-completionMatchedText": { fontWeight: "bold", textDecoration: "none" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif" },
});
