-- SQLite numbers the rows of a table in the order of their making; what plugins build over the
-- messages goes by that number.

ALTER TABLE messages ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX messages_rowid ON messages (rowid);
