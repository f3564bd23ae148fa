-- Where a call's result came from: [kind, source] pairs.

ALTER TABLE steps ADD COLUMN origins TEXT;
