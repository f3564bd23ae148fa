CREATE ROLE hookline_writer LOGIN PASSWORD '…';
GRANT CONNECT ON DATABASE {database} TO hookline_writer;
GRANT pg_read_all_data, pg_monitor TO hookline_writer;
-- in {database}, the schemas and tables that it may change:
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hookline_writer;
