-- Functions of these names that PostgreSQL calls volatile: they may act. Name, schema, one row argument.
SELECT p.proname, n.nspname,
  p.pronargs = 1 AND EXISTS (SELECT 1 FROM pg_type t WHERE t.oid = p.proargtypes[0] AND t.typtype IN ('c', 'p'))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = ANY (%s) AND (p.provolatile = 'v' OR p.prokind = 'p')
