-- All tables including full-text tables, without the shadow tables of the latter.
-- name: tables
SELECT t.name, t.type = 'virtual' AS is_virtual,
       EXISTS (SELECT 1 FROM pragma_foreign_key_list(t.name)) AS refers
FROM pragma_table_list t JOIN sqlite_master m ON m.name = t.name AND m.type = 'table'
WHERE t.schema = 'main' AND t.type IN ('table', 'virtual') AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND (t.type = 'table' OR m.sql LIKE '%USING fts5(%') AND t.name <> 'migrations'
ORDER BY t.name;

-- name: columns
SELECT name FROM pragma_table_xinfo(:name) WHERE hidden = 0 ORDER BY name;

-- The position of a row is its rowid.
-- name: begin
SELECT -9223372036854775807 AS place;

-- name: page
SELECT rowid AS hookline_place, {columns} FROM {name}
WHERE rowid > CAST(:place AS INTEGER) ORDER BY rowid LIMIT 500;

-- name: last_place
SELECT max(rowid) AS place FROM {name};
