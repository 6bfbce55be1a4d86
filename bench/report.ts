/** One figure of the report. */
export interface Figure {
  readonly line: string;
  readonly what: string;
  /** In words, with its unit. */
  readonly product: string;
  readonly beside: string;
  readonly value: number;
  readonly unit: 'ratio' | 'ms' | '%';
  /** The lowest and highest of the rounds, or of all that was measured. */
  readonly spread?: readonly [number, number];
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
}

function shown(value: number, unit: Figure['unit']): string {
  return unit === 'ratio' ? value.toFixed(2) : `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)} ${unit}`;
}

function targetOf({ target, unit }: Figure): string {
  if (target === undefined) return '';
  return 'atLeast' in target ? `≥ ${shown(target.atLeast, unit)}` : `≤ ${shown(target.atMost, unit)}`;
}

/** Whether a figure is on the right side of its line; true where there is no line. */
export function reaches({ target, value }: Figure): boolean {
  if (target === undefined) return true;
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
}

/** All figures as a table in Markdown. */
export function toMarkdown(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { line, what, product, beside, value, unit, spread, target } = figure;
    const range = spread === undefined ? '' : ` (${shown(spread[0], unit)}–${shown(spread[1], unit)})`;
    const verdict = target === undefined ? '' : reaches(figure) ? 'yes' : '**no**';
    return `| ${[line, what, product, beside, shown(value, unit) + range, targetOf(figure), verdict].join(' | ')} |`;
  });
  return [
    '| `--only` | what | product | beside it | result | line | reached |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
