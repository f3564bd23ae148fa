-- A key near its end, a foreign key and a filter without an index, an index twice, free pages.
CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, mail TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people(id), placed TEXT, total REAL);
CREATE TABLE visits (person INTEGER REFERENCES people(id), page TEXT);
CREATE TABLE events (at TEXT, what TEXT);
CREATE INDEX visits_by_person ON visits(person);
CREATE INDEX visits_by_person_and_page ON visits(person, page);
INSERT INTO people(name, mail) VALUES ('Ada', 'ada@example.org');
INSERT INTO people VALUES (9223372036854775000, 'Eve', 'eve@example.org');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
INSERT INTO orders SELECT i, 1, '2026-01-01', i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
INSERT INTO events SELECT '2026-01-01', hex(randomblob(200)) FROM n;
DELETE FROM events WHERE rowid > 100;
ANALYZE;
