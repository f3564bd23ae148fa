VALUES (1, 'a'), (2, 'b')
PRAGMA table_info(orders)
PRAGMA main.table_info('orders')
PRAGMA table_xinfo(orders)
PRAGMA index_list(orders)
PRAGMA foreign_key_list(orders)
PRAGMA database_list
PRAGMA user_version
PRAGMA integrity_check
PRAGMA quick_check(5)
PRAGMA journal_mode
SELECT * FROM pragma_table_info('orders')
SELECT m.name, p.name, p.type FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'
SELECT name, sql FROM sqlite_master WHERE type = 'table'
SELECT name FROM sqlite_schema
SELECT strftime('%Y-%m', placed) AS month, count(*) FROM orders GROUP BY month
SELECT date('now', '-30 days'), datetime('now'), julianday(placed) FROM orders
SELECT group_concat(name, ', ') FROM customers
SELECT json_extract('{"a": [1, 2]}', '$.a[1]')
SELECT value FROM json_each('[1, 2, 3]')
SELECT '{"a": 1}' ->> '$.a'
SELECT printf('%.2f', price), format('%05d', id) FROM products
SELECT iif(stock > 5, 'many', 'few') FROM products
SELECT rowid, * FROM customers
SELECT typeof(price), quote(name), hex(name) FROM products
SELECT [name] FROM [customers]
SELECT `name` FROM `customers`
SELECT "name" FROM "customers" WHERE name GLOB 'A*'
SELECT count(*) FILTER (WHERE status = 'paid') FROM orders
SELECT total(quantity), instr(name, 'a') FROM order_items, products WHERE product_id = products.id GROUP BY name
EXPLAIN QUERY PLAN SELECT * FROM orders WHERE customer_id = 1
SELECT name FROM customers ORDER BY name COLLATE NOCASE
SELECT name FROM customers NATURAL JOIN (SELECT 1 AS id)
SELECT random() IS NOT NULL, randomblob(4) IS NOT NULL, changes(), total_changes()
SELECT sqlite_version()
SELECT ifnull(note, '') || '!' FROM orders
SELECT name, first_value(name) OVER (PARTITION BY category ORDER BY price) FROM products
WITH RECURSIVE days(d) AS (VALUES (date('2025-03-01')) UNION ALL SELECT date(d, '+1 day') FROM days WHERE d < '2025-03-10') SELECT d, count(o.id) FROM days LEFT JOIN orders o ON date(o.placed) = d GROUP BY d
SELECT id FROM orders INDEXED BY orders_by_customer WHERE customer_id = 1
SELECT * FROM customers LIMIT 1, 2
SELECT count(*) FROM customers NOT INDEXED
SELECT x'00ff', cast(x'414243' AS TEXT)
SELECT c.name FROM customers c WHERE c.id = 1 AND c.name IS NOT DISTINCT FROM 'Ada'
SELECT unixepoch(placed) / 86400 AS day, count(*) FROM orders GROUP BY 1
