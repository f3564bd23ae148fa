CREATE USER hookline_writer IDENTIFIED BY '…';
GRANT SELECT, SHOW VIEW, INSERT, UPDATE, DELETE ON {database}.* TO hookline_writer;
GRANT PROCESS ON *.* TO hookline_writer;
