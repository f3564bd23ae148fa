FROM customers
FROM orders SELECT status, count(*) GROUP BY ALL
SELECT * EXCLUDE (note) FROM orders
SELECT * REPLACE (upper(name) AS name) FROM customers
SELECT columns('.*id') FROM order_items
VALUES (1, 'a'), (2, 'b')
TABLE products
DESCRIBE orders
DESCRIBE SELECT * FROM orders
SUMMARIZE orders
SUMMARIZE SELECT price FROM products
SHOW TABLES
SHOW ALL TABLES
PRAGMA table_info('orders')
PRAGMA show_tables
PRAGMA database_size
PRAGMA version
SELECT table_name FROM information_schema.tables
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_columns() WHERE table_name = 'orders'
SELECT * FROM pragma_table_info('orders')
SELECT name FROM sqlite_master
PIVOT order_items ON product_id USING sum(quantity)
PIVOT orders ON status USING count(*) GROUP BY customer_id
SELECT date_trunc('month', placed) AS month, count(*) FROM orders GROUP BY 1
SELECT status, count(*) FILTER (WHERE customer_id = 1) FROM orders GROUP BY status
SELECT list(name ORDER BY name), string_agg(name, ', ') FROM customers
SELECT unnest([1, 2, 3]) AS i
SELECT * FROM range(5)
SELECT * FROM generate_series(1, 3)
SELECT list_transform([1, 2], lambda x: x + 1)
SELECT {'a': 1, 'b': [1, 2]} AS s
SELECT [x * 2 for x in [1, 2, 3]] AS l
SELECT name, price FROM products QUALIFY row_number() OVER (PARTITION BY category ORDER BY price) = 1
SELECT approx_count_distinct(customer_id), median(id), quantile_cont(id, 0.9) FROM orders
SELECT arg_max(name, price) FROM products
SELECT * FROM orders ASOF JOIN customers ON orders.placed >= customers.joined
SELECT * FROM products USING SAMPLE 2
SELECT regexp_extract(name, '[a-z]+') FROM products
SELECT name ILIKE 'a%' FROM customers
SELECT placed::DATE, extract('year' FROM placed), placed + INTERVAL 3 DAY FROM orders
SELECT epoch(placed), strftime(placed, '%Y') FROM orders
SELECT count(*) FROM orders GROUP BY ROLLUP (status, customer_id)
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), ())
SELECT * FROM (VALUES (1, 'x')) t(a, b)
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t
SELECT * FROM customers ANTI JOIN orders ON customers.id = orders.customer_id
SELECT * FROM customers SEMI JOIN orders ON customers.id = orders.customer_id
SELECT uuid() IS NOT NULL, random() < 2, current_date, now()
EXPLAIN ANALYZE SELECT count(*) FROM orders
EXPLAIN (FORMAT json) SELECT 1
SELECT 7 // 2, 2 ** 3
SELECT $$a;b$$ AS quoted
SELECT * FROM (SUMMARIZE orders)
SELECT json_extract('{"a": 1}', '$.a')
SELECT current_setting('threads')
SELECT histogram(category) FROM products
FROM histogram(products, price)
