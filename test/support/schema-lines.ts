import type pg from 'pg';

/**
 * The tables, columns, keys and indexes of a database as sorted lines, to compare two by. Whether an array may
 * be null is left out: the datamodel cannot say it.
 */
export async function schemaLines(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT format('column %s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                   CASE WHEN a.attnotnull AND a.attndims = 0 THEN ' NOT NULL' END,
                   ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)) AS line
       FROM pg_attribute a
       JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
       LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
        AND c.relname <> '_prisma_migrations'
      UNION ALL
     SELECT format('key %s.%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
       FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f')
        AND conrelid <> coalesce(to_regclass('_prisma_migrations'), 0)
      UNION ALL
     SELECT format('index %s', indexdef) FROM pg_indexes
      WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'
      ORDER BY 1`,
  );
  return rows.map(({ line }) => line);
}
