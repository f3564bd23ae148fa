-- One row that changes with roles, objects, settings, locks and large objects.
SELECT
  (SELECT md5(string_agg(r::text, ',' ORDER BY r.rolname)) FROM pg_authid r WHERE rolname !~ '_[0-9a-f]{8}$'),
  (SELECT md5(string_agg(d.datname, ',' ORDER BY d.datname)) FROM pg_database d WHERE datname !~ '_[0-9a-f]{8}$'),
  (SELECT md5(string_agg(c.relname::text || c.relkind::text || coalesce(c.relacl::text, ''), ',' ORDER BY c.oid)) FROM pg_class c
   WHERE relnamespace <> 'pg_toast'::regnamespace),
  (SELECT md5(string_agg(a.attrelid::text || a.attname, ',' ORDER BY a.attrelid, a.attnum)) FROM pg_attribute a),
  (SELECT md5(string_agg(p.oid::text || p.proname, ',' ORDER BY p.oid)) FROM pg_proc p),
  (SELECT md5(string_agg(x.extname, ',' ORDER BY x.extname)) FROM pg_extension x),
  (SELECT md5(string_agg(s.name || coalesce(s.setting, ''), ',' ORDER BY s.name)) FROM pg_settings s
   WHERE s.name NOT IN ('application_name')),
  (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
  (SELECT count(*) FROM pg_largeobject_metadata),
  (SELECT count(*) FROM pg_db_role_setting), (SELECT count(*) FROM pg_replication_slots),
  (SELECT count(*) FROM pg_description WHERE objoid = 'customers'::regclass),
  (SELECT count(*) FROM pg_prepared_xacts)
