SELECT '\\'; DELETE FROM customers; --'
SELECT "\\"; DELETE FROM customers; --"
