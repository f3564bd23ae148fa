SELECT NOW(), CURDATE(), CURRENT_TIMESTAMP, UTC_DATE()
SELECT DATE_FORMAT(placed, '%Y-%m') AS month, COUNT(*) FROM orders GROUP BY month
SELECT DATE(placed), YEAR(placed), MONTHNAME(placed), DAYOFWEEK(placed) FROM orders
SELECT DATE_SUB(placed, INTERVAL 1 MONTH), DATEDIFF(NOW(), placed) > 0 FROM orders
SELECT TIMESTAMPDIFF(DAY, MIN(placed), MAX(placed)) FROM orders
SELECT UNIX_TIMESTAMP(placed), FROM_UNIXTIME(0) IS NOT NULL FROM orders
SELECT STR_TO_DATE('01.03.2025', '%d.%m.%Y')
SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR '; ') FROM customers
SELECT GROUP_CONCAT(DISTINCT status) FROM orders
SELECT IFNULL(note, 'none'), IF(status = 'paid', 1, 0), NULLIF(status, 'paid') FROM orders
SELECT CONCAT(name, ' (', country, ')'), CONCAT_WS('-', id, name) FROM customers
SELECT name FROM customers WHERE name REGEXP '^[A-D]'
SELECT name FROM customers WHERE name RLIKE 'a$' OR name NOT REGEXP 'x'
SELECT REGEXP_REPLACE(name, '[aeiou]', ''), REGEXP_SUBSTR(name, '[a-z]+') FROM customers
SELECT SUBSTRING_INDEX(name, ' ', 1), LEFT(name, 2), RIGHT(name, 2), MID(name, 2, 2) FROM customers
SELECT LPAD(id, 5, '0'), REVERSE(name), CHAR_LENGTH(name), LENGTH(name), LOCATE('a', name) FROM customers
SELECT FORMAT(price, 2), ROUND(price), CEIL(price), FLOOR(price), TRUNCATE(price, 1) FROM products
SELECT JSON_EXTRACT(body, '$.page'), JSON_UNQUOTE(JSON_EXTRACT(body, '$.page')) FROM events
SELECT JSON_VALUE(body, '$.ms'), JSON_LENGTH(body), JSON_KEYS(body) FROM events
SELECT JSON_OBJECT('id', id, 'name', name) FROM products
SELECT JSON_ARRAYAGG(name) FROM products
SELECT t.a FROM JSON_TABLE('[{"a": 1}, {"a": 2}]', '$[*]' COLUMNS (a INT PATH '$.a')) AS t
SELECT HEX(secret), flags + 0, secret, flags, spent FROM events
SELECT CAST(price AS CHAR), CAST('12' AS UNSIGNED), CONVERT(name USING utf8mb4) FROM products
SELECT `name`, `price` AS `select` FROM `products`
SELECT "a string", 'it''s', 'it\\'s', "say \\"hi\\""
SELECT * FROM customers LIMIT 1, 2
SELECT * FROM customers LIMIT 2 OFFSET 1
SELECT 1 # a comment
SELECT 1 -- a comment
SELECT name /* which */ FROM customers
SELECT COUNT(DISTINCT country, city) FROM customers
SELECT country, COUNT(*) FROM customers GROUP BY country WITH ROLLUP
SELECT name, RANK() OVER (ORDER BY price DESC), PERCENT_RANK() OVER (ORDER BY price) FROM products
SELECT MEDIAN(price) OVER (PARTITION BY category) FROM products
SELECT name, LAG(price, 1) OVER w, SUM(price) OVER w FROM products WINDOW w AS (ORDER BY id)
WITH RECURSIVE d AS (SELECT DATE('2025-03-01') AS day UNION ALL SELECT day + INTERVAL 1 DAY FROM d WHERE day < '2025-03-10') SELECT d.day, COUNT(o.id) FROM d LEFT JOIN orders o ON DATE(o.placed) = d.day GROUP BY d.day
SELECT seq FROM seq_1_to_5
SELECT * FROM orders FORCE INDEX (orders_by_customer) WHERE customer_id = 1
SELECT * FROM orders USE INDEX () WHERE customer_id = 1
SELECT STRAIGHT_JOIN c.name FROM customers c JOIN orders o ON o.customer_id = c.id
SELECT SQL_NO_CACHE COUNT(*) FROM orders
SELECT c.name FROM customers c NATURAL JOIN (SELECT 1 AS id) x
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE status <=> 'paid')
SELECT revenue_of(1)
SELECT * FROM revenue
SELECT VERSION(), DATABASE(), USER(), CURRENT_USER(), CONNECTION_ID() > 0
SELECT @@version, @@max_connections, @@session.sql_mode
SELECT TABLE_NAME, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'orders'
SELECT INDEX_NAME, COLUMN_NAME, SEQ_IN_INDEX FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
SELECT CONSTRAINT_NAME, REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE()
SELECT * FROM information_schema.PROCESSLIST
SELECT * FROM information_schema.INNODB_TRX
SHOW TABLES
SHOW FULL TABLES
SHOW COLUMNS FROM orders
SHOW FULL COLUMNS FROM orders LIKE 'c%'
SHOW INDEX FROM orders
SHOW CREATE TABLE orders
SHOW CREATE VIEW revenue
SHOW DATABASES
SHOW STATUS LIKE 'Threads%'
SHOW GLOBAL STATUS LIKE 'Com_select'
SHOW VARIABLES LIKE 'max_connections'
SHOW GLOBAL VARIABLES WHERE Variable_name = 'read_only'
SHOW PROCESSLIST
SHOW FULL PROCESSLIST
SHOW ENGINE INNODB STATUS
SHOW ENGINES
SHOW TABLE STATUS
SHOW WARNINGS
SHOW GRANTS
SHOW COLLATION LIKE 'utf8mb4_general%'
DESCRIBE orders
DESC customers name
EXPLAIN SELECT * FROM orders WHERE customer_id = 1
EXPLAIN EXTENDED SELECT * FROM orders
EXPLAIN FORMAT=JSON SELECT * FROM orders
EXPLAIN orders
DESCRIBE SELECT * FROM orders
SELECT id FROM orders UNION SELECT id FROM products ORDER BY id DESC LIMIT 3
(SELECT id FROM orders LIMIT 1) UNION ALL (SELECT id FROM products LIMIT 1)
SELECT name COLLATE utf8mb4_bin FROM customers ORDER BY name COLLATE utf8mb4_unicode_ci DESC
SELECT 5 DIV 2, 5 MOD 2, 5 % 2, 1 << 3, 6 & 3, 6 | 1, ~0 > 0, 2 ^ 3, NOT 1, 1 XOR 0, 1 && 0, 1 || 0
SELECT x'4142', 0x4142, b'1010' + 0, _utf8mb4'abc', N'abc'
SELECT DATE '2025-01-01', TIMESTAMP '2025-01-01 10:00:00', TIME '10:00:00'
SELECT INET_ATON('10.0.0.1'), UUID() IS NOT NULL, RAND() < 2, CRC32('a'), MD5('a'), SHA2('a', 256)
SELECT FIELD(status, 'open', 'paid'), ELT(1, 'a', 'b'), FIND_IN_SET('b', 'a,b'), GREATEST(1, 2), LEAST(1, 2) FROM orders
SELECT EXTRACT(YEAR_MONTH FROM placed), QUARTER(placed), WEEK(placed, 3), LAST_DAY(placed) FROM orders
SELECT STDDEV(price), VARIANCE(price), BIT_OR(id), STD(price) FROM products
SELECT p.* FROM products p LEFT JOIN order_items i ON i.product_id = p.id WHERE i.order_id IS NULL
SELECT id, (SELECT COUNT(*) FROM order_items i WHERE i.order_id = o.id) AS n FROM orders o HAVING n > 1
SELECT CASE status WHEN 'paid' THEN 1 WHEN 'open' THEN 2 ELSE 3 END AS k, COUNT(*) FROM orders GROUP BY k
SELECT * FROM customers WHERE joined BETWEEN '2024-01-01' AND '2024-12-31' AND city LIKE 'K%'
