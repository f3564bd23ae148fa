-- A row is written once. Its place in the chain stands beside it, so that the application's role needs
-- to insert and to select only.
CREATE TABLE audit_seals (
    seq INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    n INTEGER NOT NULL,
    sha TEXT NOT NULL
);
CREATE UNIQUE INDEX audit_seals_row ON audit_seals (node, n);
INSERT INTO audit_seals (seq, node, n, sha)
SELECT seq, node, n, sha FROM audit_rows WHERE seq IS NOT NULL;
DROP INDEX audit_rows_seq;
ALTER TABLE audit_rows DROP COLUMN seq;
ALTER TABLE audit_rows DROP COLUMN sha;
