DELETE FROM customers
INSERT INTO customers VALUES (9, 'x', 'y', 'ZZ', '2025-01-01')
UPDATE customers SET name = 'x'
REPLACE INTO customers VALUES (1, 'x', 'y', 'ZZ', '2025-01-01')
TRUNCATE TABLE customers
TRUNCATE customers
DROP TABLE customers
DROP TABLE IF EXISTS orders
DROP VIEW revenue
DROP INDEX orders_by_customer
CREATE TABLE evil (a INTEGER)
CREATE TABLE evil AS SELECT * FROM customers
CREATE TEMP TABLE evil (a INTEGER)
CREATE TEMPORARY TABLE evil AS SELECT 1
CREATE VIEW evil AS SELECT 1
CREATE INDEX evil ON customers(name)
ALTER TABLE customers ADD COLUMN evil INTEGER
ALTER TABLE customers RENAME TO evil
ALTER TABLE customers DROP COLUMN city
MERGE INTO customers c USING orders o ON c.id = o.customer_id WHEN MATCHED THEN DELETE
SELECT 1; DELETE FROM customers
SELECT 1; SELECT 2
; DELETE FROM customers
;;DELETE FROM customers;;
SELECT 1;; DROP TABLE customers
SELECT 1 /* ; */ ; DELETE FROM customers
SELECT 1 -- ; nothing\n; DELETE FROM customers
-- a comment\nDELETE FROM customers
/* a comment */ DELETE FROM customers
/* a */ /* b */ DROP TABLE customers
/*! DELETE FROM customers */
SELECT 1 /*! INTO OUTFILE '/tmp/hookline-evil' */
/*!50000 DROP TABLE customers */
/*M!100100 DROP TABLE customers */
SELECT /*!99999 1, */ 2
SELECT 1 /* outer /* inner */ ; DELETE FROM customers -- */
SELECT 1 /* /* */ ; DROP TABLE customers; /* */ */
DELETE/**/FROM/**/customers
dElEtE FrOm customers
DELETE\u00a0FROM customers
DELETE\u2003FROM\u2003customers
SELECT\u00a01
SELECT 1\u037e DELETE FROM customers
SELECT 1\uff1b DELETE FROM customers
\ufeffDELETE FROM customers
SELECT 1\u2028; DELETE FROM customers
SEL\u200bECT 1
SELECT '\u202e' ; DELETE FROM customers
SELECT 1 \u0000; DELETE FROM customers
SELECT ''';DELETE FROM customers;--'; DELETE FROM customers
WITH gone AS (DELETE FROM customers RETURNING *) SELECT * FROM gone
WITH gone AS (UPDATE customers SET name = 'x' RETURNING *) SELECT * FROM gone
WITH made AS (INSERT INTO customers VALUES (9, 'x', 'y', 'ZZ', '2025-01-01') RETURNING *) SELECT * FROM made
WITH a AS (SELECT 1) DELETE FROM customers
WITH a AS (SELECT 1) UPDATE customers SET name = 'x'
WITH a AS (SELECT 9) INSERT INTO customers SELECT 9, 'x', 'y', 'ZZ', '2025-01-01' FROM a
WITH a AS (WITH b AS (DELETE FROM customers RETURNING *) SELECT * FROM b) SELECT * FROM a
WITH RECURSIVE a(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM a WHERE i < 3) DELETE FROM customers WHERE id IN (SELECT i FROM a)
SELECT * FROM (DELETE FROM customers RETURNING *) x
SELECT * INTO evil FROM customers
SELECT name INTO evil FROM customers
SELECT * INTO TEMP evil FROM customers
SELECT 1 INTO @evil
SELECT * FROM customers INTO OUTFILE '/tmp/hookline-evil'
SELECT * FROM customers INTO DUMPFILE '/tmp/hookline-evil'
SELECT * FROM customers FOR UPDATE
SELECT * FROM customers FOR SHARE
SELECT * FROM customers FOR NO KEY UPDATE
SELECT * FROM customers LOCK IN SHARE MODE
EXPLAIN DELETE FROM customers
EXPLAIN ANALYZE DELETE FROM customers
EXPLAIN ANALYZE UPDATE customers SET name = 'x'
EXPLAIN (ANALYZE) DELETE FROM customers
EXPLAIN (ANALYZE, VERBOSE) INSERT INTO customers VALUES (9, 'x', 'y', 'ZZ', '2025-01-01')
EXPLAIN (ANALYZE true, FORMAT json) DELETE FROM customers
EXPLAIN ANALYZE VERBOSE WITH a AS (DELETE FROM customers RETURNING *) SELECT * FROM a
EXPLAIN ANALYZE CREATE TABLE evil AS SELECT 1
EXPLAIN EXPLAIN ANALYZE DELETE FROM customers
EXPLAIN /* x */ ANALYZE /* y */ DELETE FROM customers
EXPLAIN (((ANALYZE))) DELETE FROM customers
ANALYZE FORMAT=JSON DELETE FROM customers
COPY customers TO '/tmp/hookline-evil'
COPY customers TO STDOUT
COPY customers FROM '/etc/passwd'
COPY (SELECT 1) TO '/tmp/hookline-evil'
COPY customers TO PROGRAM 'touch /tmp/hookline-evil'
COPY customers FROM PROGRAM 'id'
LOAD DATA INFILE '/etc/passwd' INTO TABLE customers
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE customers
EXPORT DATABASE '/tmp/hookline-evil'
IMPORT DATABASE '/tmp/hookline-evil'
ATTACH DATABASE '/tmp/hookline-evil.db' AS evil
ATTACH '/tmp/hookline-evil.db' AS evil
ATTACH ':memory:' AS evil
DETACH DATABASE main
PRAGMA writable_schema = ON
PRAGMA writable_schema(1)
PRAGMA journal_mode = DELETE
PRAGMA journal_mode = WAL
PRAGMA journal_mode(OFF)
PRAGMA query_only = OFF
PRAGMA query_only(0)
PRAGMA user_version = 7
PRAGMA application_id = 7
PRAGMA wal_checkpoint
PRAGMA wal_checkpoint(TRUNCATE)
PRAGMA optimize
PRAGMA incremental_vacuum
PRAGMA schema_version = 7
PRAGMA temp_store_directory = '/tmp'
PRAGMA foreign_keys = ON
PRAGMA hard_heap_limit = 1
PRAGMA soft_heap_limit(1)
PRAGMA main.user_version = 9
PRAGMA enable_external_access = true
PRAGMA force_checkpoint
PRAGMA import_database('/tmp')
PRAGMA enable_profiling
EXPLAIN PRAGMA journal_mode = WAL
VACUUM
VACUUM INTO '/tmp/hookline-evil.db'
VACUUM FULL customers
REINDEX
REINDEX customers
ANALYZE
ANALYZE customers
ANALYZE TABLE customers
OPTIMIZE TABLE customers
REPAIR TABLE customers
CHECKPOINT
FORCE CHECKPOINT
BEGIN
BEGIN IMMEDIATE
BEGIN READ WRITE
START TRANSACTION READ WRITE
START TRANSACTION
COMMIT
COMMIT; DELETE FROM customers
ROLLBACK
END
ABORT
SAVEPOINT a
RELEASE a
ROLLBACK TO a
SET TRANSACTION READ WRITE
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
SET transaction_read_only = off
SET default_transaction_read_only = off
SET SESSION TRANSACTION READ WRITE
SET GLOBAL read_only = 0
SET ROLE postgres
SET ROLE NONE
RESET ROLE
RESET ALL
SET SESSION AUTHORIZATION postgres
RESET SESSION AUTHORIZATION
SET statement_timeout = 0
SET search_path = evil
SET @a = 1
SET enable_external_access = true
SET VARIABLE a = 1
DISCARD ALL
GRANT ALL ON customers TO PUBLIC
REVOKE ALL ON customers FROM PUBLIC
CREATE ROLE evil SUPERUSER
CREATE USER evil
ALTER USER postgres PASSWORD 'x'
ALTER ROLE hookline SET default_transaction_read_only = off
ALTER SYSTEM SET fsync = off
DROP OWNED BY CURRENT_USER
REASSIGN OWNED BY CURRENT_USER TO postgres
CREATE DATABASE evil
DROP DATABASE shop
CREATE SCHEMA evil
DROP SCHEMA public CASCADE
CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE OR REPLACE PROCEDURE evil() LANGUAGE sql AS 'DELETE FROM customers'
CREATE TRIGGER evil AFTER INSERT ON customers BEGIN DELETE FROM orders; END
CREATE MACRO evil(a) AS a + 1
CREATE SEQUENCE evil
CREATE EXTENSION dblink
CREATE VIRTUAL TABLE evil USING fts5(a)
INSTALL httpfs
LOAD httpfs
LOAD '/tmp/evil.so'
DO $$ BEGIN DELETE FROM customers; END $$
DO SLEEP(5)
CALL wipe()
CALL force_checkpoint()
EXECUTE evil
EXECUTE IMMEDIATE 'DELETE FROM customers'
PREPARE evil AS DELETE FROM customers
PREPARE evil FROM 'DELETE FROM customers'
DEALLOCATE ALL
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM customers
FETCH ALL FROM c
LISTEN evil
NOTIFY evil, 'x'
UNLISTEN *
LOCK TABLE customers
LOCK TABLES customers WRITE
UNLOCK TABLES
HANDLER customers OPEN
FLUSH TABLES
FLUSH TABLES WITH READ LOCK
KILL 1
KILL QUERY 1
SHUTDOWN
USE mysql
USE evil
XA START 'a'
COMMENT ON TABLE customers IS 'x'
SECURITY LABEL ON TABLE customers IS 'x'
REFRESH MATERIALIZED VIEW revenue
CLUSTER customers
RENAME TABLE customers TO evil
PURGE BINARY LOGS TO 'x'
INSTALL PLUGIN evil SONAME 'evil.so'
HELP 'x'
.shell touch /tmp/hookline-evil
.open /tmp/hookline-evil.db
\\! touch /tmp/hookline-evil
\\copy customers to '/tmp/hookline-evil'
SELECT load_extension('/tmp/evil.so')
SELECT "load_extension"('/tmp/evil.so')
SELECT LOAD_EXTENSION /* x */ ('/tmp/evil.so', 'f')
SELECT writefile('/tmp/hookline-evil', 'x')
SELECT readfile('/etc/passwd')
SELECT edit('x', 'touch /tmp/hookline-evil')
SELECT fts3_tokenizer('simple', x'00')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM glob('/etc/*')
SELECT * FROM duckdb_secrets()
SELECT nextval('evil')
SELECT setval('evil', 9)
SELECT pg_sleep(60)
SELECT sleep(60)
SELECT benchmark(1000000000, md5('x'))
SELECT pg_terminate_backend(1)
SELECT "pg_terminate_backend"(1)
SELECT pg_catalog.pg_terminate_backend(1)
SELECT pg_cancel_backend(1)
SELECT pg_notify('evil', 'x')
SELECT pg_advisory_lock(1)
SELECT pg_try_advisory_lock(1)
SELECT get_lock('evil', 10)
SELECT set_config('transaction_read_only', 'off', false)
SELECT set_config('role', 'postgres', false)
SELECT pg_read_file('/etc/passwd')
SELECT load_file('/etc/passwd')
SELECT lo_import('/etc/passwd')
SELECT lo_export(1, '/tmp/hookline-evil')
SELECT * FROM dblink('dbname=postgres', 'DELETE FROM customers') AS t(a int)
SELECT query_to_xml('DELETE FROM customers', true, true, '')
SELECT pg_reload_conf()
SELECT sys_exec('touch /tmp/hookline-evil')
SELECT sys_eval('id')
SELECT @a := 1
TABLE customers; DELETE FROM customers
VALUES (1); DELETE FROM customers
SELECT U&"pg\\005fsleep"(60)
SELECT $$x$$; DELETE FROM customers; --$$
SELECT $a$ $b$ $a$; DELETE FROM customers --$b$
SELECT 1 UNION DELETE FROM customers
SELECT (DELETE FROM customers)
SELECT * FROM customers WHERE id = (INSERT INTO customers VALUES (9,'x','y','ZZ','2025-01-01') RETURNING id)
IF 1=1 THEN DELETE FROM customers; END IF
BEGIN NOT ATOMIC DELETE FROM customers; END
