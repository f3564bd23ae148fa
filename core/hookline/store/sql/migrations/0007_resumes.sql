-- How often another process has resumed a turn, so that one that kills its process is not resumed for ever.

ALTER TABLE turns ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
