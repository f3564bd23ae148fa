-- Every table and view with its columns: table, kind, column, type, note, rows.
WITH keys AS (
  SELECT schema_name, table_name, column_name, max(kind) AS kind FROM (
    SELECT schema_name, table_name, unnest(constraint_column_names) AS column_name, constraint_type AS kind
    FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
  ) GROUP BY ALL
)
SELECT CASE WHEN c.schema_name = 'main' THEN c.table_name ELSE c.schema_name || '.' || c.table_name END,
  CASE WHEN t.table_name IS NULL THEN 'view' ELSE 'table' END,
  c.column_name, c.data_type,
  CASE WHEN k.kind = 'PRIMARY KEY' THEN 'PK' WHEN k.kind = 'FOREIGN KEY' THEN 'FK'
    WHEN NOT c.is_nullable THEN 'NOT NULL' ELSE '' END,
  coalesce(t.estimated_size, -1)
FROM duckdb_columns() c
LEFT JOIN duckdb_tables() t ON (t.schema_name, t.table_name, t.database_name) = (c.schema_name, c.table_name, c.database_name)
LEFT JOIN keys k ON (k.schema_name, k.table_name, k.column_name) = (c.schema_name, c.table_name, c.column_name)
WHERE NOT c.internal AND c.database_name = current_database()
ORDER BY 1, c.column_index
