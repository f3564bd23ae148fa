CREATE USER hookline_reader IDENTIFIED BY '…';
GRANT SELECT, SHOW VIEW ON {database}.* TO hookline_reader;
-- what it needs to see who waits for whom:
GRANT PROCESS ON *.* TO hookline_reader;
