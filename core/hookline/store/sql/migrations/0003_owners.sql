-- Which node works on a message, a turn or a reply; null when nobody does.

ALTER TABLE inbox ADD COLUMN owner TEXT;
ALTER TABLE turns ADD COLUMN owner TEXT;
ALTER TABLE outbox ADD COLUMN owner TEXT;
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (channel, created) WHERE state IN ('pending', 'sending');
