-- Limits of this transaction, and how it parses strings.
SELECT set_config('statement_timeout', %(statement)s, true), set_config('lock_timeout', %(lock)s, true),
  set_config('idle_in_transaction_session_timeout', '60s', true), set_config('standard_conforming_strings', 'on', true),
  set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
  set_config('bytea_output', 'hex', true), set_config('extra_float_digits', '1', true)
