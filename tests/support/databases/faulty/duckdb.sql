-- A sequence near its end, an index that repeats the key, dates as text.
CREATE SEQUENCE tickets MAXVALUE 1000;
CREATE TABLE people (id INTEGER PRIMARY KEY, birth_date VARCHAR, ticket INTEGER DEFAULT nextval('tickets'));
CREATE INDEX people_again ON people(id);
CREATE TABLE orders AS SELECT range AS id, range % 7 AS person FROM range(300000);
INSERT INTO people SELECT range, '2001-01-01', nextval('tickets') FROM range(950);
