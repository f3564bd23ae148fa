-- Functions of these names that PostgreSQL calls volatile: name, whether the server or an extension
-- provides it, whether it can be written like a column of a row.
SELECT p.proname,
  p.pronamespace = 'pg_catalog'::regnamespace
    OR EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'),
  p.pronargs = 1 AND EXISTS (SELECT 1 FROM pg_type t WHERE t.oid = p.proargtypes[0] AND t.typtype IN ('c', 'd', 'p'))
FROM pg_proc p
WHERE p.proname = ANY (%s) AND (p.provolatile = 'v' OR p.prokind = 'p')
