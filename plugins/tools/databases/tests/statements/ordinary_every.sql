SELECT * FROM customers
SELECT count(*) FROM orders
SELECT 1
SELECT 1;
select id, name from customers where country = 'SE'
SELECT name FROM customers WHERE name LIKE '%ö%'
SELECT '陳大文' AS name
SELECT name FROM customers WHERE name = '陳大文'
SELECT DISTINCT category FROM products ORDER BY category
SELECT category, count(*) AS n, avg(price) AS mean FROM products GROUP BY category HAVING count(*) > 1 ORDER BY n DESC
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id
SELECT o.id, c.name FROM orders AS o LEFT JOIN customers AS c ON c.id = o.customer_id WHERE c.id IS NULL
SELECT c.name, o.id FROM customers c LEFT OUTER JOIN orders o ON o.customer_id = c.id ORDER BY c.name, o.id
SELECT a.name, b.name FROM products a CROSS JOIN products b WHERE a.id < b.id
SELECT name FROM products WHERE price = (SELECT max(price) FROM products)
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)
SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)
SELECT id FROM orders WHERE customer_id IN (1, 2, 3)
SELECT id FROM orders WHERE placed BETWEEN '2025-03-01' AND '2025-04-30'
SELECT status, count(*) FROM orders GROUP BY status
SELECT CASE WHEN price > 100 THEN 'dear' ELSE 'cheap' END AS kind, count(*) FROM products GROUP BY CASE WHEN price > 100 THEN 'dear' ELSE 'cheap' END
SELECT coalesce(note, 'none') FROM orders
SELECT nullif(status, 'paid') FROM orders
SELECT upper(name), lower(name), length(name) FROM customers
SELECT round(avg(price), 2) FROM products
SELECT sum(quantity * price) AS revenue FROM order_items
SELECT min(placed), max(placed) FROM orders
SELECT * FROM revenue ORDER BY total DESC LIMIT 3
SELECT * FROM products ORDER BY price DESC LIMIT 2 OFFSET 1
SELECT name FROM customers UNION SELECT name FROM products
SELECT name FROM customers UNION ALL SELECT name FROM products ORDER BY name
SELECT country FROM customers EXCEPT SELECT 'SE'
SELECT country FROM customers INTERSECT SELECT 'SE'
WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT count(*) FROM paid
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n
WITH t(a, b) AS (SELECT 1, 2) SELECT a + b FROM t
SELECT name, rank() OVER (ORDER BY price DESC) FROM products
SELECT name, row_number() OVER (PARTITION BY category ORDER BY price) AS place FROM products
SELECT id, lag(id) OVER (ORDER BY placed), lead(id) OVER (ORDER BY placed) FROM orders
SELECT id, sum(quantity) OVER (PARTITION BY order_id ORDER BY product_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM (SELECT order_id AS id, order_id, product_id, quantity FROM order_items) s
SELECT category, max(price) - min(price) AS span FROM products GROUP BY category
SELECT name FROM products WHERE category = 'home' OR (stock > 5 AND NOT price > 200)
SELECT cast(price AS DECIMAL(10,1)) FROM products
SELECT cast(id AS CHAR(5)) FROM products
SELECT name FROM customers -- who they are
SELECT /* all of them */ name FROM customers
SELECT 'it''s; DELETE FROM customers' AS text
SELECT '-- DROP TABLE customers' AS text
SELECT '/* INSERT INTO x */' AS text
SELECT note FROM orders WHERE note LIKE '%--%'
SELECT 'INTO OUTFILE' AS words
SELECT count(*) AS "deletes" FROM orders
SELECT id AS update_id, status AS set_status FROM orders
SELECT customers.name FROM customers, orders WHERE customers.id = orders.customer_id
SELECT c.country, count(DISTINCT c.id) AS people, sum(i.quantity * i.price) AS money FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_items i ON i.order_id = o.id GROUP BY c.country ORDER BY money DESC
SELECT p.name, sum(i.quantity) AS sold FROM products p LEFT JOIN order_items i ON i.product_id = p.id GROUP BY p.id, p.name ORDER BY sold DESC
SELECT avg(total) FROM (SELECT sum(quantity * price) AS total FROM order_items GROUP BY order_id) t
SELECT name, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c
SELECT replace(name, 'a', 'b') FROM customers
SELECT name FROM customers WHERE trim(city) <> ''
SELECT abs(-3), 7 % 3, 2 * 3 + 1
SELECT count(*) FROM orders WHERE note IS NOT NULL
SELECT substr(name, 1, 3) FROM customers
SELECT * FROM (SELECT 1 AS a UNION ALL SELECT 2) x WHERE a > 1
SELECT max(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) AS paid, max(CASE WHEN status = 'open' THEN 1 ELSE 0 END) AS open FROM orders
SELECT first.id FROM orders AS first JOIN orders AS second ON first.customer_id = second.customer_id AND first.id < second.id
SELECT ntile(2) OVER (ORDER BY price) AS half, name FROM products
SELECT country, count(*) * 100.0 / (SELECT count(*) FROM customers) AS share FROM customers GROUP BY country
SELECT id FROM products WHERE (price, stock) = (249.00, 3)
SELECT dense_rank() OVER w AS r, name FROM products WINDOW w AS (ORDER BY stock)
EXPLAIN SELECT * FROM orders WHERE customer_id = 1
SELECT 1; -- fine
