-- Where the text came from: a JSON list of [kind, source], null for texts stored before; those count
-- as from outside.
ALTER TABLE artifacts_texts ADD COLUMN origins TEXT;
