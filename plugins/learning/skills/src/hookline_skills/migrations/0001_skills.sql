-- What is known of skills beside their files. `at` and the like are Unix time in seconds.

-- Skills that the agent has made. `marker` stands in a file in the skill's folder too, so that a
-- folder which a person put in the place of one that the agent made is a person's.
CREATE TABLE skills_made (
    name TEXT PRIMARY KEY,
    marker TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE TABLE skills_pins (
    name TEXT PRIMARY KEY
);
-- The state of a skill after each change. `files` is a JSON object of path to SHA-256; empty for a
-- skill that was deleted. `turn_id` is the turn that was learnt from.
CREATE TABLE skills_versions (
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    action TEXT NOT NULL,
    author TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    files TEXT NOT NULL,
    PRIMARY KEY (name, number)
);
-- Contents of files, compressed with zlib, in base64.
CREATE TABLE skills_blobs (
    sha TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
-- Every use of a skill. `how` is viewed, injected or asked.
CREATE TABLE skills_activations (
    name TEXT NOT NULL,
    how TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX skills_activations_by_name ON skills_activations (name, at);
CREATE INDEX skills_activations_by_time ON skills_activations (at);
