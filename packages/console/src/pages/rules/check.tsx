// check.tsx: shows a draft's mistakes, or the results of its examples.

import type { RulesetCheck } from "../../answers.ts";
import { Badge, Button } from "../../components/basics.tsx";
import { countOf } from "../../format.ts";
import type { Mistake } from "./editor.tsx";

interface CheckResultProps {
  readonly of: RulesetCheck;
  readonly onMistake: (mistake: Mistake) => void;
  /** Replaces what an example expects with what it gives. */
  readonly onExpect: (index: number) => void;
}

export function CheckResult({ of: { mistakes, examples, rules }, onMistake, onExpect }: CheckResultProps) {
  const passed = examples.filter((example) => example.passed).length;
  return (
    <>
      <p role="status" class={mistakes.length > 0 || passed < examples.length ? "problem" : ""}>
        {mistakes.length > 0
          ? countOf(mistakes.length, "mistake")
          : `${countOf(rules.live, "live rule")}, ${rules.shadow} in shadow; ${passed} of ${countOf(examples.length, "example")} pass`}
      </p>
      <ul class="checks">
        {mistakes.map((mistake) => (
          <li key={`${mistake.line} ${mistake.column} ${mistake.message}`}>
            <button type="button" class="quiet" onClick={() => onMistake(mistake)}>
              line {mistake.line}, column {mistake.column}
            </button>{" "}
            {mistake.message}
          </li>
        ))}
        {examples.map(({ name, passed: isGood, ...example }, i) => (
          <li key={i}>
            <Badge kind={isGood ? "good" : "bad"}>{isGood ? "pass" : "fail"}</Badge>
            {name}
            {!isGood && (
              <small class="bad">
                {whatFailed(example)}{" "}
                <Button
                  text="Expect this"
                  label={`Expect this result: ${name}`}
                  onClick={() => onExpect(i)}
                />
              </small>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function whatFailed({ expected, action, rules }: Omit<RulesetCheck["examples"][number], "name" | "passed">) {
  const wanted = [expected.action, expected.rules && `rules ${expected.rules.join(", ")}`];
  return `expected ${wanted.filter(Boolean).join(" and ")}; got ${action}, rules ${rules.join(", ") || "none"}`;
}
