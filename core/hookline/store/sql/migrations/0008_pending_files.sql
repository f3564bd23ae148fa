-- The files of a message in state files_pending, which its channel has yet to fetch.

ALTER TABLE inbox ADD COLUMN files TEXT;
