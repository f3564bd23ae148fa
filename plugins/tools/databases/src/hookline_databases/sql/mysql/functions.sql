-- Stored functions of these names whose owner does not say that they only read.
SELECT ROUTINE_NAME FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND LOWER(ROUTINE_NAME) IN %(names)s
  AND SQL_DATA_ACCESS NOT IN ('READS SQL DATA', 'NO SQL')
