SELECT wipe()
SELECT public.wipe()
SELECT WIPE ()
SELECT "wipe"()
SELECT "Gone"()
SELECT c.gone FROM customers c
SELECT (c).gone FROM customers c
SELECT (customers).gone FROM customers
SELECT customers.gone FROM customers
SELECT gone(c) FROM customers c
SELECT statement_timestamp(1)
SELECT sleepy()
SELECT * FROM wipe()
SELECT * FROM ROWS FROM (wipe(), sleepy())
SELECT * FROM customers ORDER BY wipe()
SELECT * FROM customers WHERE wipe() = 1
SELECT count(*) FILTER (WHERE wipe() = 1) FROM customers
SELECT * FROM customers LIMIT wipe()
SELECT CASE WHEN true THEN wipe() END
WITH x AS MATERIALIZED (SELECT wipe()) SELECT * FROM x
EXPLAIN ANALYZE SELECT wipe()
EXPLAIN (ANALYZE) SELECT nextval('evil')
EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT pg_sleep(60)
EXPLAIN (ANALYZE) EXECUTE evil
EXPLAIN ANALYZE DECLARE c CURSOR FOR SELECT 1
EXPLAIN ANALYZE CREATE MATERIALIZED VIEW evil2 AS SELECT 1
EXPLAIN ANALYZE REFRESH MATERIALIZED VIEW spend
EXPLAIN (ANALYZE) MERGE INTO customers c USING orders o ON c.id = o.customer_id WHEN MATCHED THEN DELETE
CALL wiped()
DO 'BEGIN DELETE FROM customers; END'
DO LANGUAGE plpgsql $a$ BEGIN PERFORM pg_sleep(60); END $a$
COPY (SELECT wipe()) TO STDOUT
COPY (DELETE FROM customers RETURNING *) TO STDOUT
TABLE customers FOR UPDATE
SELECT * FROM customers FOR KEY SHARE SKIP LOCKED
SELECT * FROM (SELECT * FROM customers FOR UPDATE) x
WITH x AS (SELECT * FROM customers FOR UPDATE) SELECT * FROM x
WITH x AS (MERGE INTO customers c USING orders o ON c.id = o.customer_id WHEN MATCHED THEN DELETE RETURNING c.*) SELECT * FROM x
SELECT pg_advisory_xact_lock(1)
SELECT pg_advisory_lock_shared(1, 2)
SELECT pg_try_advisory_xact_lock_shared(1)
SELECT pg_sleep_for('1 minute')
SELECT pg_sleep_until(now() + interval '1 minute')
SELECT pg_catalog . pg_sleep(60)
SELECT pg_catalog."pg_sleep"(60)
SELECT OPERATOR(pg_catalog.+) 1, pg_sleep(60)
SELECT lo_creat(-1)
SELECT lo_create(0)
SELECT lo_from_bytea(0, 'x')
SELECT lo_unlink(1)
SELECT lo_put(1, 0, 'x')
SELECT pg_read_binary_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT pg_stat_file('/etc/passwd')
SELECT pg_file_write('/tmp/hookline-evil', 'x', false)
SELECT pg_create_logical_replication_slot('evil', 'test_decoding')
SELECT pg_create_physical_replication_slot('evil')
SELECT pg_drop_replication_slot('evil')
SELECT pg_replication_origin_create('evil')
SELECT pg_logical_emit_message(false, 'evil', 'x')
SELECT pg_switch_wal()
SELECT pg_create_restore_point('evil')
SELECT pg_backup_start('evil')
SELECT pg_promote()
SELECT pg_rotate_logfile()
SELECT pg_export_snapshot()
SELECT pg_stat_reset()
SELECT pg_stat_reset_shared('wal')
SELECT pg_stat_statements_reset()
SELECT pg_log_backend_memory_contexts(1)
SELECT pg_import_system_collations('pg_catalog')
SELECT pg_wal_replay_pause()
SELECT pg_nextoid('pg_class', 'oid', 'pg_class_oid_index')
SELECT pg_current_xact_id()
SELECT txid_current()
SELECT set_config('statement_timeout', '0', false)
SELECT set_config('log_statement', 'all', false)
SELECT query_to_xmlschema('SELECT wipe()', true, true, '')
SELECT cursor_to_xml('c', 1, true, true, '')
SELECT table_to_xml('customers', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT ts_stat('SELECT wipe()')
SELECT * FROM ts_stat('SELECT wipe()')
SELECT ts_rewrite('a'::tsquery, 'SELECT wipe()')
SELECT * FROM crosstab('SELECT wipe()')
SELECT dblink_exec('dbname=postgres', 'DROP TABLE customers')
SELECT dblink_connect('dbname=postgres')
SELECT currval('evil'), nextval('evil')
SELECT setval('evil', 7, true)
SELECT 1; COMMIT; DELETE FROM customers
COMMIT; BEGIN READ WRITE; DELETE FROM customers; COMMIT
SELECT 1 \\; DELETE FROM customers
SELECT 1 \\gexec
SELECT 1 \\g /tmp/hookline-evil
SHOW all; DELETE FROM customers
SHOW transaction_read_only; SET transaction_read_only = off
SET LOCAL transaction_read_only = off
SET LOCAL ROLE postgres
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE
ALTER ROLE CURRENT_USER SUPERUSER
ALTER DATABASE CURRENT SET default_transaction_read_only = off
ALTER TABLE customers DISABLE TRIGGER ALL
ALTER FUNCTION wipe() STABLE
CREATE RULE evil AS ON SELECT TO customers DO INSTEAD SELECT 1
CREATE POLICY evil ON customers USING (true)
CREATE EVENT TRIGGER evil ON ddl_command_start EXECUTE FUNCTION wipe()
CREATE UNLOGGED TABLE evil2 (a int)
CREATE SERVER evil FOREIGN DATA WRAPPER postgres_fdw
IMPORT FOREIGN SCHEMA public FROM SERVER evil INTO public
CREATE PUBLICATION evil FOR ALL TABLES
CREATE SUBSCRIPTION evil CONNECTION 'x' PUBLICATION y
CREATE STATISTICS evil ON id, name FROM customers
PREPARE TRANSACTION 'evil'
COMMIT PREPARED 'evil'
ROLLBACK PREPARED 'evil'
START TRANSACTION READ WRITE; DELETE FROM customers
MOVE ALL FROM c
CLOSE ALL
DISCARD PLANS
LOAD 'auto_explain'
SELECT $1
SELECT * FROM generate_series(1, 1000000000000) a, generate_series(1, 1000000) b ORDER BY a + b
WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r
SELECT count(*) FROM generate_series(1, 100000000000)
SELECT repeat('x', 1000000000)
SELECT repeat('x', 500000000), repeat('y', 500000000)
SELECT array_fill(1, ARRAY[100000000])
SELECT 'a' COLLATE "evil"
SELECT regexp_replace(repeat('a', 100000), '(a+)+$', 'b') FROM wipe()
SELECT U&'\\0064' UESCAPE '!'
SELECT E'\\x27; DELETE FROM customers; --' , wipe()
SELECT $$a$$, $b$ $$ $b$, wipe()
SELECT 1 AS "a", wipe() AS "wipe"
SELECT*FROM/**/customers/**/,/**/wipe()
SELECT x FROM (VALUES (wipe())) AS v(x)
VALUES (wipe())
TABLE customers UNION ALL SELECT wipe(), '', '', '', NULL
SELECT array(SELECT wipe())
SELECT (SELECT wipe())
SELECT ROW(wipe())
SELECT ARRAY[wipe()]
SELECT sum(wipe()) OVER () FROM customers
SELECT json_build_object('a', wipe())
SELECT DISTINCT ON (wipe()) * FROM customers
SELECT * FROM customers TABLESAMPLE SYSTEM (wipe())
SELECT * FROM LATERAL wipe() x
SELECT * FROM customers GROUP BY ROLLUP (wipe())
SELECT coalesce(NULL, wipe())
SELECT xmlelement(name a, wipe())
SELECT wi\u200bpe()
SELECT \u0077ipe()
