-- Whose words a skill was made from, up to this version: a JSON list of [kind, source].
ALTER TABLE skills_versions ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
