-- name: renew!
UPDATE artifacts_texts SET expires = :expires, origins = :origins WHERE id = :id;

-- name: origins_of
SELECT origins FROM artifacts_texts WHERE id = :id;

-- name: add_text!
INSERT INTO artifacts_texts (id, channel, chat_id, chars, expires, origins)
VALUES (:id, :channel, :chat_id, :chars, :expires, :origins);

-- name: add_part!
INSERT INTO artifacts_parts (artifact_id, place, body) VALUES (:id, :place, :body);

-- name: text_of
SELECT channel, chat_id, chars, origins FROM artifacts_texts WHERE id = :id AND expires > :now;

-- name: parts_of
SELECT place, body FROM artifacts_parts
WHERE artifact_id = :id AND place > :after AND place < :before
ORDER BY place;

-- name: forget_parts!
DELETE FROM artifacts_parts WHERE artifact_id IN (
    SELECT id FROM artifacts_texts WHERE expires <= :now
);

-- name: forget_texts!
DELETE FROM artifacts_texts WHERE expires <= :now;
