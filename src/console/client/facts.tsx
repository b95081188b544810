// Names with values: a strip under the bar, or a list in a section.
import type { ComponentChildren } from "preact";

export type Fact = readonly [name: string, value: ComponentChildren];

interface FactsProps {
  facts: readonly Fact[];
  kind?: "facts" | "strip" | "strip sum";
}

/** Facts without a value are left out. */
export function Facts({ facts, kind = "facts" }: FactsProps) {
  return (
    <dl class={kind}>
      {facts
        .filter(([, value]) => value || value === 0)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
