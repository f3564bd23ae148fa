SELECT * FROM '/etc/passwd'
SELECT * FROM '/etc/passwd.csv'
SELECT * FROM 'https://example.com/x.parquet'
SELECT * FROM read_parquet('/tmp/x.parquet')
SELECT * FROM parquet_scan('/tmp/x.parquet')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('customers')
SELECT * FROM force_checkpoint()
SELECT * FROM checkpoint()
SELECT write_log('x')
SELECT sleep_ms(60000)
SELECT * FROM enable_logging()
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
PRAGMA json_execute_serialized_sql('{}')
PRAGMA threads = 64
PRAGMA memory_limit = '1TB'
PRAGMA verify_parallelism
PRAGMA enable_profiling = 'json'
PRAGMA profiling_output = '/tmp/hookline-evil'
PRAGMA copy_database('a', 'b')
SET GLOBAL memory_limit = '1TB'
COPY FROM DATABASE shop TO evil
CREATE SECRET evil (TYPE s3)
CREATE TYPE evil AS ENUM ('a')
CREATE OR REPLACE TEMP MACRO count(x) AS 1
INSERT OR REPLACE INTO customers VALUES (1, 'x', 'y', 'ZZ', '2025-01-01')
INSERT INTO customers BY NAME SELECT 9 AS id, 'x' AS name
UPDATE EXTENSIONS
FROM customers; DELETE FROM customers
DESCRIBE DELETE FROM customers
SUMMARIZE DELETE FROM customers
EXPLAIN ANALYZE INSERT INTO customers SELECT 9, 'x', 'y', 'ZZ', '2025-01-01'
PIVOT (DELETE FROM customers RETURNING *) ON name
SELECT * FROM customers_frame
SELECT * FROM statements
SELECT * FROM harness
ATTACH 'https://example.com/x.db'
ATTACH 'postgresql://localhost/x' AS evil (TYPE postgres)
CALL pragma_version()
CALL dbgen(sf=1)
RESET threads
ALTER DATABASE shop SET ALIAS TO evil
