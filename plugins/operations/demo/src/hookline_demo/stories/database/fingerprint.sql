-- All rows but test orders, the names of tables and indexes, the test orders; psql puts | between them.
SELECT (SELECT md5(string_agg(o::text, ',' ORDER BY o.id)) FROM orders o WHERE status <> 'test'),
  (SELECT md5(string_agg(c::text, ',' ORDER BY c.id)) FROM customers c),
  (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
  (SELECT md5(string_agg(o::text, ',' ORDER BY o.id)) FROM orders o WHERE status = 'test')
