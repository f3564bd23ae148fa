-- The table, if its engine has transactions and it has no triggers: they may change a table whose
-- engine has no transactions.
SELECT t.TABLE_NAME FROM information_schema.TABLES t
JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE AND e.TRANSACTIONS = 'YES'
WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = %(table)s AND NOT EXISTS (
  SELECT 1 FROM information_schema.TRIGGERS g
  WHERE g.EVENT_OBJECT_SCHEMA = t.TABLE_SCHEMA AND g.EVENT_OBJECT_TABLE = t.TABLE_NAME)
