SELECT now(), current_date, localtimestamp, clock_timestamp() > now() - interval '1 day'
SELECT date_trunc('month', placed) AS month, count(*) FROM orders GROUP BY 1 ORDER BY 1
SELECT placed::date, status::varchar(3) FROM orders
SELECT to_char(placed, 'YYYY-MM-DD HH24:MI') FROM orders
SELECT extract(dow FROM placed), extract(epoch FROM placed)::bigint FROM orders
SELECT age(timestamp '2025-06-01', placed) FROM orders
SELECT generate_series(1, 10) AS n
SELECT d::date, count(o.id) FROM generate_series('2025-03-01'::date, '2025-03-31', '1 day') d LEFT JOIN orders o ON o.placed::date = d GROUP BY 1 ORDER BY 1
SELECT name FROM customers WHERE name ILIKE 'a%'
SELECT name FROM customers WHERE name ~* '^[a-d]'
SELECT string_agg(name, ', ' ORDER BY name) FROM customers
SELECT array_agg(DISTINCT status) FROM orders
SELECT body->>'page' AS page, (body->>'ms')::int FROM events
SELECT body @> '{"page": "/"}' FROM events
SELECT jsonb_pretty(body), jsonb_object_keys(body) FROM events
SELECT key, value FROM events, jsonb_each(body)
SELECT jsonb_path_query(body, '$.page') FROM events
SELECT unnest(tags), 'a' = ANY (tags) FROM events
SELECT tags[1], array_length(tags, 1), cardinality(tags) FROM events
SELECT span, lower(span), upper(span), 3 <@ span FROM events
SELECT secret, encode(secret, 'hex') FROM events
SELECT 'infinity'::timestamptz, '-infinity'::date, '0044-03-15 BC'::date
SELECT interval '1 year 2 mons 3 days', '25:00'::interval
SELECT 1e400::numeric, 'NaN'::float8, 'Infinity'::float8
SELECT '10.0.0.1/8'::inet, '00:11:22:33:44:55'::macaddr, gen_random_uuid() IS NOT NULL
SELECT row(1, 'a'), '{1,2}'::int[], '(1,2)'::point
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM products
SELECT mode() WITHIN GROUP (ORDER BY status) FROM orders
SELECT count(*) FILTER (WHERE status = 'paid') FROM orders
SELECT category, name, sum(price) FROM products GROUP BY ROLLUP (category, name)
SELECT category, stock, count(*) FROM products GROUP BY GROUPING SETS ((category), (stock), ())
SELECT category, sum(price) FROM products GROUP BY CUBE (category)
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, placed DESC
SELECT c.name, o.id FROM customers c CROSS JOIN LATERAL (SELECT id FROM orders WHERE customer_id = c.id ORDER BY placed DESC LIMIT 1) o
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, s)
VALUES (1, 'a'), (2, 'b')
TABLE customers
WITH paid AS MATERIALIZED (SELECT * FROM orders WHERE status = 'paid') SELECT count(*) FROM paid
WITH RECURSIVE t(n, path) AS (SELECT 1, ARRAY[1] UNION ALL SELECT n + 1, path || n + 1 FROM t WHERE n < 5) SELECT * FROM t
SELECT revenue_of(1)
SELECT * FROM spend
SELECT coalesce(note, 'none') || '!' FROM orders
SELECT name, price, avg(price) OVER (PARTITION BY category), price - lag(price) OVER (ORDER BY price) FROM products
SELECT first_value(name) OVER w, nth_value(name, 2) OVER w FROM products WINDOW w AS (ORDER BY price RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
SELECT width_bucket(price, 0, 300, 3), count(*) FROM products GROUP BY 1
SELECT corr(price, stock), stddev(price), variance(price), regr_slope(price, stock) FROM products
SELECT initcap(name), left(name, 2), right(name, 2), split_part(name, ' ', 1), reverse(name) FROM customers
SELECT regexp_replace(name, '[aeiou]', '', 'g'), regexp_matches(name, '(.)(.)') FROM customers
SELECT format('%s costs %s', name, price), lpad(id::text, 5, '0') FROM products
SELECT to_tsvector('simple', name) @@ to_tsquery('simple', 'lamp') FROM products
SELECT greatest(1, 2, 3), least(1, 2), random() < 2, pi()
SELECT * FROM customers FETCH FIRST 2 ROWS ONLY
SELECT * FROM products TABLESAMPLE BERNOULLI (100) REPEATABLE (1)
SELECT version(), current_user, session_user, current_database(), current_schema
SELECT pg_size_pretty(pg_total_relation_size('orders')), pg_size_pretty(pg_database_size(current_database()))
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'
SELECT relname, n_live_tup, n_dead_tup, last_autovacuum FROM pg_stat_user_tables
SELECT indexrelname, idx_scan FROM pg_stat_user_indexes
SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
SELECT pid, state, query, now() - query_start AS age FROM pg_stat_activity
SELECT locktype, mode, granted, pg_blocking_pids(pid) FROM pg_locks
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f'
SELECT name, setting, unit FROM pg_settings WHERE name LIKE '%mem'
SELECT schemaname, sequencename, last_value FROM pg_sequences
SELECT c.relname, pg_get_viewdef(c.oid) FROM pg_class c WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace
SELECT pg_get_indexdef(indexrelid), indisunique FROM pg_index WHERE indrelid = 'orders'::regclass
SELECT age(datfrozenxid), datname FROM pg_database
SELECT reltuples::bigint, relpages, pg_relation_size(oid) FROM pg_class WHERE relname = 'orders'
SELECT obj_description('orders'::regclass), col_description('orders'::regclass, 1)
SELECT has_table_privilege('orders', 'SELECT'), to_regclass('nothing')
SELECT * FROM pg_stat_database WHERE datname = current_database()
SELECT * FROM pg_stats WHERE tablename = 'orders'
SELECT sum(heap_blks_hit) / nullif(sum(heap_blks_hit + heap_blks_read), 0) FROM pg_statio_user_tables
SHOW server_version
SHOW search_path
EXPLAIN (COSTS off, FORMAT json) SELECT * FROM orders
EXPLAIN ANALYZE SELECT count(*) FROM orders
EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM orders WHERE customer_id = 1
EXPLAIN VERBOSE SELECT name FROM customers
SELECT "name", 'x' AS "DELETE" FROM "customers"
SELECT $$it's; DELETE FROM customers$$ AS words, $a$--$a$
SELECT E'tab\\t', 'a' || 'b' AS ab
SELECT 1 WHERE 'a' SIMILAR TO '(a|b)' AND 2 BETWEEN SYMMETRIC 3 AND 1
SELECT (ARRAY[1,2,3])[2:3], (row(1,2)).f1
SELECT o.* FROM orders o WHERE (o.customer_id, o.status) IN (SELECT 1, 'paid')
SELECT overlay('abc' placing 'x' from 2), substring('abc' from 2 for 1), position('b' in 'abc'), trim(both 'x' from 'xax')
SELECT timestamp '2025-03-01' AT TIME ZONE 'UTC', current_timestamp AT TIME ZONE 'Europe/Berlin'
SELECT (timestamp '2025-01-01', timestamp '2025-02-01') OVERLAPS (timestamp '2025-01-15', interval '1 month')
SELECT count(*) AS n, max(length(note)) FROM orders HAVING count(*) > 0
SELECT name FROM customers ORDER BY name COLLATE "C" NULLS LAST
SELECT bool_and(stock > 0), bool_or(stock > 100), every(price > 0), bit_and(stock) FROM products
SELECT json_agg(row_to_json(p)) FROM products p
SELECT json_build_object('id', id, 'name', name) FROM products
SELECT x.a FROM jsonb_to_recordset('[{"a": 1}]') AS x(a int)
SELECT 1 FROM customers c WHERE EXISTS (TABLE orders)
SELECT pg_typeof(price), pg_column_size(name) FROM products
SELECT lag(placed) OVER (ORDER BY placed) IS DISTINCT FROM placed FROM orders
