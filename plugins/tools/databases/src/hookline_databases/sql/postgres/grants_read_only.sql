CREATE ROLE hookline_reader LOGIN PASSWORD '…';
GRANT CONNECT ON DATABASE {database} TO hookline_reader;
GRANT pg_read_all_data, pg_monitor TO hookline_reader;
