-- All rows, and the names of tables and indexes; psql prints it as one line.
SELECT (SELECT md5(string_agg(o::text, ',' ORDER BY o.id)) FROM orders o),
  (SELECT md5(string_agg(c::text, ',' ORDER BY c.id)) FROM customers c),
  (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace)
