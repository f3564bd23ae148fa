-- Every table and view that the login may read: table, kind, column, type, note, rows.
SELECT CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END,
  CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'table' END,
  a.attname, format_type(a.atttypid, a.atttypmod),
  concat_ws(' ', CASE WHEN p.conname IS NOT NULL THEN 'PK' WHEN a.attnotnull THEN 'NOT NULL' END,
    CASE WHEN f.conname IS NOT NULL THEN '-> ' || f.confrelid::regclass::text END),
  CASE WHEN c.relkind IN ('r', 'm', 'p') THEN c.reltuples::bigint ELSE -1 END
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_constraint p ON p.conrelid = c.oid AND p.contype = 'p' AND a.attnum = ANY (p.conkey)
LEFT JOIN LATERAL (SELECT conname, confrelid FROM pg_constraint
  WHERE conrelid = c.oid AND contype = 'f' AND a.attnum = ANY (conkey) LIMIT 1) f ON true
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%'
  AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, a.attnum
