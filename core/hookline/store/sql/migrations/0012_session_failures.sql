-- failures are consecutive failures by plugin, as JSON, so that they count over restarts.

ALTER TABLE sessions ADD COLUMN failures TEXT NOT NULL DEFAULT '{}';
