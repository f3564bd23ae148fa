-- All tables except the store's own tables of nodes, locks and migrations.
-- name: tables
SELECT c.relname AS name, FALSE AS is_virtual,
       EXISTS (SELECT 1 FROM pg_constraint r WHERE r.conrelid = c.oid AND r.contype = 'f') AS refers
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind = 'r'
  AND c.relname NOT IN ('nodes', 'writers', 'beats', 'owners', 'migrations')
ORDER BY c.relname;

-- Without columns that the database generates itself.
-- name: columns
SELECT a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = :name AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attgenerated = '' AND a.attidentity <> 'a'
ORDER BY a.attname;

-- The position of a row is the number of its block; a page is eight blocks.
-- name: begin
SELECT -1 AS place;

-- name: page
SELECT CAST(:place AS BIGINT) + 8 AS hookline_place, {columns} FROM {name}
WHERE ctid >= CAST('(' || CAST(:place AS BIGINT) + 1 || ',0)' AS tid)
  AND ctid < CAST('(' || CAST(:place AS BIGINT) + 9 || ',0)' AS tid);

-- name: last_place
SELECT pg_relation_size(CAST(quote_ident(current_schema()) || '.' || quote_ident(:name) AS regclass))
       / CAST(current_setting('block_size') AS BIGINT) - 1 AS place;

-- Identity columns, whose numbers continue after the copied ones.
-- name: numbered
SELECT a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = :name AND a.attidentity = 'd';

-- name: go_on
SELECT setval(pg_get_serial_sequence(quote_ident(current_schema()) || '.' || quote_ident(:name), :column),
              greatest(max({column}), 1), max({column}) IS NOT NULL) FROM {name};
