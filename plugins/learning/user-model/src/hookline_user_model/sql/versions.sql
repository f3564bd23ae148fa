-- name: next_number!
UPDATE user_model_numbers SET last = last + 1 WHERE name = 'version';

-- name: last_number
SELECT last FROM user_model_numbers WHERE name = 'version';

-- name: add_version!
INSERT INTO user_model_versions (id, channel, chat_id, version, text, by_hand, origin, session_id,
                                 turn_id, created)
VALUES (:id, :channel, :chat_id, :version, :text, :by_hand, :origin, :session_id, :turn_id,
        :created);

-- name: versions_of
SELECT * FROM user_model_versions WHERE channel = :channel AND chat_id = :chat_id
ORDER BY version DESC;

-- name: version_by_id
SELECT * FROM user_model_versions WHERE id = :id;

-- name: prune!
DELETE FROM user_model_versions
WHERE channel = :channel AND chat_id = :chat_id AND version < :oldest;

-- name: newest_versions
SELECT v.*, t.number AS turn,
       (SELECT p.text FROM user_model_versions p
        WHERE p.channel = v.channel AND p.chat_id = v.chat_id AND p.version = v.version - 1)
           AS before
FROM user_model_versions v LEFT JOIN turns t ON t.id = v.turn_id
ORDER BY v.id DESC LIMIT :limit;

-- name: present
SELECT v.*, t.number AS turn FROM user_model_versions v LEFT JOIN turns t ON t.id = v.turn_id
WHERE v.version = (SELECT MAX(w.version) FROM user_model_versions w
                   WHERE w.channel = v.channel AND w.chat_id = v.chat_id)
ORDER BY v.channel, v.chat_id;

-- name: last_turn
SELECT id FROM turns WHERE session_id = :session_id ORDER BY number DESC LIMIT 1;
