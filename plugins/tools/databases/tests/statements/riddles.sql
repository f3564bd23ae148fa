SELECT '\\''; DELETE FROM customers; -- '
SELECT $$; DELETE FROM customers; --$$ AS a
SELECT 1 # ; DELETE FROM customers
SELECT 1--1; DELETE FROM customers
SELECT `a`; DELETE FROM customers; -- `
SELECT 'a' 'b; DELETE FROM customers'
SELECT "a; DELETE FROM customers"
SELECT [a; DELETE FROM customers]
SELECT 1 AS "a"";DELETE FROM customers"
SELECT E'\\'; DELETE FROM customers; --'
