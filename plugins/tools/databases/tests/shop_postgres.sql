-- What PostgreSQL's hostile statements reach for, and what its ordinary ones read besides the shop.
CREATE SEQUENCE evil;
CREATE FUNCTION wipe() RETURNS integer LANGUAGE sql AS 'DELETE FROM order_items; SELECT 1';
CREATE FUNCTION gone(c customers) RETURNS integer LANGUAGE sql AS 'DELETE FROM order_items; SELECT 1';
CREATE FUNCTION "Gone"() RETURNS integer LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM order_items; SELECT 1';
CREATE FUNCTION statement_timestamp(integer) RETURNS integer LANGUAGE sql AS 'DELETE FROM order_items; SELECT 1';
CREATE FUNCTION sleepy() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(60)';
CREATE PROCEDURE wiped() LANGUAGE sql AS 'DELETE FROM order_items';
CREATE FUNCTION revenue_of(integer) RETURNS numeric STABLE LANGUAGE sql AS 'SELECT total FROM revenue WHERE order_id = $1';
CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz DEFAULT '2025-01-01', kind text, body jsonb, tags text[], span int4range, secret bytea);
INSERT INTO events (kind, body, tags, span, secret) VALUES ('click', '{"page": "/", "ms": 12}', '{a,b}', '[1,5)', '\x00ff'), ('view', '{"page": "/x"}', NULL, NULL, NULL);
CREATE MATERIALIZED VIEW spend AS SELECT customer_id, count(*) AS orders FROM orders GROUP BY 1;
