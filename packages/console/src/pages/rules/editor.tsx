// editor.tsx: the rules' editor, CodeMirror with completion and with mistakes marked in place.
//
// It is in a shadow root, where CodeMirror needs no style element, which the content security policy forbids.

import { autocompletion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentMore } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { DeclaredFacts, RulesetCheck } from "../../answers.ts";
import { completionsAt } from "./completion.ts";

export type Mistake = RulesetCheck["mistakes"][number];

interface EditorProps {
  readonly text: string;
  /** The result of the last check. */
  readonly check: RulesetCheck | undefined;
  readonly view: RefObject<EditorView | null>;
  readonly onText: (text: string) => void;
}

const HELP =
  "Ctrl+Space completes, F8 moves to the next mistake, and Tab indents. To leave the editor, press Escape and then Tab.";

export function Editor({ text, check, view, onText }: EditorProps) {
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
    const { doc } = view.current!.state;
    if (doc.toString() !== text)
      view.current!.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
  }, [text]);
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
  ".cm-completionMatchedText": { fontWeight: "bold", textDecoration: "none" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif" },
});
