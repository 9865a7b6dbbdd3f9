// editor.tsx: a text field with line numbers that marks the lines with mistakes.
//
// note Tab indents. After Escape, Tab moves the focus as everywhere else. Shift+Tab always moves the focus.

import type { RulesetCheck } from "@inkling/server/admin-answers";
import type { RefObject, TargetedKeyboardEvent } from "preact";
import { useId, useRef } from "preact/hooks";

export type Mistake = RulesetCheck["mistakes"][number];

interface EditorProps {
  readonly label: string;
  readonly text: string;
  readonly mistakes: readonly Mistake[];
  readonly area: RefObject<HTMLTextAreaElement | null>;
  readonly onText: (text: string) => void;
}

const INDENT = "  ";

export function Editor({ label, text, mistakes, area, onText }: EditorProps) {
  const id = useId();
  const isLeaving = useRef(false);
  const wrong = new Set(mistakes.map(({ line }) => line));
  const lines = text.split("\n");
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    const isTab = event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey;
    if (isTab && !isLeaving.current) {
      event.preventDefault();
      document.execCommand("insertText", false, INDENT); // the only way to insert text that the user can undo
    }
    isLeaving.current = event.key === "Escape";
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="editor">
        <pre aria-hidden="true">
          {lines.map((_, i) => (
            <span key={i} class={wrong.has(i + 1) ? "wrong" : undefined}>{`${i + 1}\n`}</span>
          ))}
        </pre>
        <textarea
          ref={area}
          id={id}
          aria-describedby={`${id}-note`}
          aria-invalid={mistakes.length > 0}
          rows={lines.length}
          wrap="off"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      <small id={`${id}-note`}>Tab indents. To leave the editor, press Escape and then Tab.</small>
    </div>
  );
}

/** Moves the cursor to a mistake and scrolls there. */
export function goTo(area: HTMLTextAreaElement, { line, column }: Mistake): void {
  const before = area.value.split("\n").slice(0, line - 1);
  const at = before.reduce((sum, { length }) => sum + length + 1, 0) + column - 1;
  area.focus({ preventScroll: true });
  area.setSelectionRange(at, at);
  const box = area.parentElement;
  const { fontSize, lineHeight } = getComputedStyle(area);
  box?.scrollIntoView({ block: "nearest" });
  box?.scrollTo({
    top: (line - 3) * Number.parseFloat(lineHeight),
    left: (column - 40) * 0.6 * Number.parseFloat(fontSize),
  });
}
