-- Where the prompt came from: a JSON list of [kind, source], empty for a person's own words.
ALTER TABLE scheduler_jobs ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
