type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The same object without the fields that are undefined. */
export function defined<T extends object>(object: T): Defined<T> {
  const kept: Defined<T> = { ...object } satisfies T;
  for (const key in kept) if (kept[key] === undefined) delete kept[key];
  return kept;
}
