import { z } from 'zod';
import { ID_PREFIXES, type IdKind } from '../kernel/ids.js';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../kernel/page.js';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** An id of one kind as it comes in; handlers get the bare UUID. */
export function idIn(kind: IdKind) {
  const prefix = `${ID_PREFIXES[kind]}_`;
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}${UUID}$`),
      `must be an id like ${prefix}01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b`,
    )
    .transform((wire) => wire.slice(prefix.length));
}

/** A time as it comes in, RFC 3339; handlers get milliseconds since the epoch. */
export const timeIn = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** The query of a list. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
  cursor: z.string().max(500).optional(),
});
