-- Bodies that were taken, by their SHA-256: somebody who has seen one cannot send it again, also when
-- its message is long forgotten.
CREATE TABLE webhook_taken (
    digest TEXT PRIMARY KEY
);
