-- name: chats
SELECT channel, chat_id, user_id, seen, private FROM access_chats;

-- name: put_chat!
INSERT INTO access_chats (channel, chat_id, user_id, seen, private)
VALUES (:channel, :chat_id, :user_id, :seen, :private)
ON CONFLICT (channel, chat_id) DO UPDATE
SET user_id = excluded.user_id, seen = excluded.seen, private = excluded.private;

-- What core still holds of a chat's messages.
-- name: inbox_of
SELECT body FROM inbox WHERE channel = :channel AND chat_id = :chat_id
ORDER BY received DESC LIMIT :limit;
