/** A version of semver taken apart: the three numbers, and what stands behind the dash. */
interface Parsed {
  readonly numbers: readonly [number, number, number];
  readonly before: readonly string[];
}

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

function parse(version: string): Parsed {
  const [, major, minor, patch, before] = VERSION.exec(version) ?? [];
  if (major === undefined) throw new Error(`${version} is no version`);
  return {
    numbers: [Number(major), Number(minor), Number(patch)],
    before: before === undefined ? [] : before.split('.'),
  };
}

/** Less than zero when `a` comes before `b`, more when after: the order of semver 2.0, §11. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [parse(a), parse(b)];
  for (const [n, number] of one.numbers.entries()) {
    const difference = number - (other.numbers[n] ?? 0);
    if (difference !== 0) return difference;
  }
  return compareBefore(one.before, other.before);
}

/** What is released comes after what was tried before it. */
function compareBefore(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length;
  for (const [n, part] of one.entries()) {
    const against = other[n];
    if (against === undefined) return 1;
    if (part !== against) return comparePart(part, against);
  }
  return one.length - other.length;
}

/** Numbers by size and before words, words by their letters. */
function comparePart(one: string, other: string): number {
  const [isNumber, isOther] = [one, other].map((part) => /^\d+$/.test(part));
  if (isNumber === true && isOther === true) return Number(one) - Number(other);
  if (isNumber !== isOther) return isNumber === true ? -1 : 1;
  return one < other ? -1 : 1;
}
