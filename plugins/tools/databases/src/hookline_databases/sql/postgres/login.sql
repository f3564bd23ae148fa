-- Rights of the login that a read-only login must not have, one row for each, in words.
WITH me AS (SELECT * FROM pg_roles WHERE rolname = session_user)
SELECT 'it is a superuser' FROM me WHERE rolsuper
UNION ALL
SELECT 'it may become the superuser ' || quote_ident(r.rolname) FROM pg_roles r, me
WHERE r.rolsuper AND NOT me.rolsuper AND pg_has_role(session_user, r.oid, 'MEMBER')
UNION ALL
SELECT 'it may use ' || r.rolname FROM pg_roles r, me
WHERE r.rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files')
  AND NOT me.rolsuper AND pg_has_role(session_user, r.oid, 'MEMBER')
UNION ALL
SELECT 'it may replicate' FROM me WHERE rolreplication AND NOT rolsuper
