CREATE USER hookline_reader IDENTIFIED BY '…';
GRANT SELECT, SHOW VIEW ON {database}.* TO hookline_reader;
-- to see which sessions wait for which:
GRANT PROCESS ON *.* TO hookline_reader;
