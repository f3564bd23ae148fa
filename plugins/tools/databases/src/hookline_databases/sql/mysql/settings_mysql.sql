-- Limits of the session, and the parsing of quotes and signs that the guard expects.
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
  max_execution_time = %(milliseconds)s, lock_wait_timeout = %(lock)s, innodb_lock_wait_timeout = %(lock)s
