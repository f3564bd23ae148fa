-- A question with a handler belongs to no call: the plugin of that name acts on its answer. subject
-- says what it is about, so that the same is asked once. handling is the node that acts now; handled
-- is 1 once that is done.

ALTER TABLE questions ADD COLUMN handler TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN handling TEXT;
ALTER TABLE questions ADD COLUMN handled INTEGER NOT NULL DEFAULT 0;
CREATE INDEX questions_subject ON questions (handler, subject) WHERE handler <> '';
