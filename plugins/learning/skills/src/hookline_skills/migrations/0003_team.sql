-- What a team says of its skills, where `team: postgres` keeps it in the store of all: signed
-- entries, which are only ever added, in the order of `seq`, from 1 without a gap. `body` is JSON.
CREATE TABLE skills_team_entries (
    seq INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (name, number, kind)
);
-- The files of each version, compressed with zlib, in base64.
CREATE TABLE skills_team_files (
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (name, number, path)
);
