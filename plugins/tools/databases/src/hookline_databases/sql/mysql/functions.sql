-- Stored functions of these names that are not declared as reading only.
SELECT ROUTINE_NAME FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND LOWER(ROUTINE_NAME) IN %(names)s
  AND SQL_DATA_ACCESS NOT IN ('READS SQL DATA', 'NO SQL')
