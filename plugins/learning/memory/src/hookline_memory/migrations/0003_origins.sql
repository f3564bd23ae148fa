-- Where what was learnt came from: a JSON list of [kind, source]. Empty for what was learnt before.
ALTER TABLE memory_facts ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memory_log ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';

-- The same for notes, whose texts stand in files: `text` is the SHA-256 of an entry of `file`.
CREATE TABLE memory_note_origins (
    file TEXT NOT NULL,
    text TEXT NOT NULL,
    origins TEXT NOT NULL,
    PRIMARY KEY (file, text)
);
