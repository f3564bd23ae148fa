-- name: next_number!
UPDATE memory_numbers SET last = last + 1 WHERE name = :name;

-- name: last_number
SELECT last FROM memory_numbers WHERE name = :name;

-- name: add_fact!
INSERT INTO memory_facts (id, channel, chat_id, content, category, confidence, session_id, turn_id,
                          created, expires_at, origins)
VALUES (:id, :channel, :chat_id, :content, :category, :confidence, :session_id, :turn_id,
        :created, :expires_at, :origins);

-- name: delete_fact!
DELETE FROM memory_facts WHERE id = :id;

-- name: fact
SELECT * FROM memory_facts WHERE id = :id AND (expires_at IS NULL OR expires_at > :now);

-- name: facts_of_chat
SELECT * FROM memory_facts
WHERE channel = :channel AND chat_id = :chat_id AND (expires_at IS NULL OR expires_at > :now)
ORDER BY created, id;

-- name: count_of_chat
SELECT count(*) AS facts FROM memory_facts WHERE channel = :channel AND chat_id = :chat_id;

-- name: all_facts
SELECT f.*, t.number AS turn FROM memory_facts f LEFT JOIN turns t ON t.id = f.turn_id
WHERE f.expires_at IS NULL OR f.expires_at > :now
ORDER BY f.channel, f.chat_id, f.created, f.id;

-- name: expired
SELECT id FROM memory_facts WHERE expires_at <= :now;

-- name: last_turn
SELECT id FROM turns WHERE session_id = :session_id ORDER BY number DESC LIMIT 1;
