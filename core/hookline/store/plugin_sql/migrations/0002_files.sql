-- Texts of the homes that share a store: notes, portraits, skills. `path` is below the home, with
-- `/`; each change is a new `version`; without a `body` the file is deleted. `changed` is Unix time by
-- the database's clock, `earlier` a JSON list of [version, sha], the newest first. Where nobody shares
-- the store it stays empty.
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    sha TEXT NOT NULL,
    body TEXT,
    earlier TEXT NOT NULL,
    changed DOUBLE PRECISION NOT NULL
);
CREATE INDEX files_changed ON files (changed);
