import { z } from 'zod';
import { ID_PREFIXES, type IdKind, UUID } from '../kernel/ids.js';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../kernel/page.js';

/** An id of one kind as it comes in; handlers get the bare UUID. */
export function idIn(kind: IdKind) {
  const prefix = `${ID_PREFIXES[kind]}_`;
  return z
    .string()
    .regex(
      new RegExp(UUID.source.replace('^', `^${prefix}`)),
      `must be an id like ${prefix}01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b`,
    )
    .transform((wire) => wire.slice(prefix.length));
}

const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** A time as it comes in, RFC 3339; handlers get milliseconds since the epoch. Only years that the database can say too. */
export const timeIn = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .refine((time) => time >= FIRST_TIME && time <= LAST_TIME, 'must be, in UTC, in a year from 0001 to 9999');

/** A page of something, as it goes out. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });
}

/** An answer that is there as JSON, and as Markdown for a prompt or for eyes. */
export function jsonOrMarkdown<T extends z.ZodType>(schema: T) {
  return {
    description: 'JSON, or Markdown by Accept',
    content: { 'application/json': { schema }, 'text/markdown': { schema: z.string() } },
  };
}

/** The query of a list. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
  cursor: z.string().max(500).optional(),
});
