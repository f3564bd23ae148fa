-- A filter without an index, indexes that nobody uses or that repeat others, a key near the end of its type, a table that
-- grows, and one that deletes have emptied.
CREATE TABLE people (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80), mail VARCHAR(80));
CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, person INT, status VARCHAR(20), note VARCHAR(80));
CREATE TABLE visits (id BIGINT AUTO_INCREMENT PRIMARY KEY, person INT, page VARCHAR(80));
CREATE TABLE events (at DATETIME, what VARCHAR(400));
CREATE INDEX orders_by_note ON orders(note);
CREATE INDEX visits_by_person ON visits(person);
CREATE INDEX visits_by_person_and_page ON visits(person, page);
INSERT INTO people(name, mail) SELECT CONCAT('p', seq), 'p@example.org' FROM seq_1_to_500;
INSERT INTO people(id, name) VALUES (2100000000, 'last');
INSERT INTO orders(person, status, note) SELECT seq % 500, 'paid', CONCAT('note ', seq) FROM seq_1_to_20000;
INSERT INTO visits(person, page) SELECT seq % 500, CONCAT('/p/', seq) FROM seq_1_to_5000;
INSERT INTO events SELECT NOW(), REPEAT('x', 400) FROM seq_1_to_40000;
DELETE FROM events;
SELECT COUNT(*) FROM visits WHERE person = 7;
SELECT COUNT(*) FROM orders WHERE person = 7;
SELECT COUNT(*) FROM orders WHERE person = 8;
ANALYZE TABLE people, orders, visits, events;
