-- A foreign key without an index, indexes that nobody uses or that repeat others, a table that grows, and one of dead
-- rows, a key whose column ends before its sequence does.
CREATE TABLE people (id integer PRIMARY KEY, name text, mail text);
CREATE SEQUENCE people_numbers AS bigint OWNED BY people.id;
ALTER TABLE people ALTER COLUMN id SET DEFAULT nextval('people_numbers');
CREATE TABLE orders (id bigint PRIMARY KEY, person integer REFERENCES people(id), placed timestamptz, note text);
CREATE TABLE visits (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, person integer REFERENCES people(id), page text);
CREATE TABLE events (at timestamptz, what text) WITH (autovacuum_enabled = false);
CREATE INDEX orders_by_note ON orders(note);
CREATE INDEX visits_by_person ON visits(person);
CREATE INDEX visits_by_person_and_page ON visits(person, page);
INSERT INTO people(name, mail) SELECT 'p' || n, 'p' || n || '@example.org' FROM generate_series(1, 500) n;
INSERT INTO orders SELECT n, n % 500 + 1, now(), 'note ' || n FROM generate_series(1, 20000) n;
INSERT INTO visits(person, page) SELECT n % 500 + 1, '/p/' || n FROM generate_series(1, 5000) n;
INSERT INTO events SELECT now(), repeat('x', 100) FROM generate_series(1, 30000);
DELETE FROM events WHERE ctid >= '(100,1)';
SELECT setval('people_numbers', 2100000000);
ANALYZE;
SET enable_seqscan = off;
SELECT count(*) FROM visits WHERE person = 7;
RESET enable_seqscan;
SELECT count(*) FROM orders WHERE person = 7;
SELECT count(*) FROM orders WHERE person = 8;
