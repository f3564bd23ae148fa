-- name: insert_session!
INSERT INTO sessions (id, channel, chat_id, kind, parent_id, title, model, system, tools, workspace,
                      parts, summary, created, updated)
VALUES (:id, :channel, :chat_id, :kind, :parent_id, :title, :model, :system, :tools, :workspace,
        :parts, :summary, :created, :created);

-- name: session
SELECT * FROM sessions WHERE id = :id;

-- For the new owner of a session: its row (id is null if it is not stored), whether it has
-- unfinished work (left_over), whether a reply ended with a question that is open (open_choices),
-- whether the message was received before (known), and the id of its chat's current session (active).
-- name: session_for_owner
SELECT s.*,
       (EXISTS (SELECT 1 FROM turns WHERE session_id = w.wanted AND state = 'running')
        OR EXISTS (SELECT 1 FROM inbox WHERE state <> 'done' AND session_id IN (w.wanted, :named))
        OR EXISTS (SELECT 1 FROM outbox WHERE state IN ('pending', 'sending')
                   AND session_id = w.wanted)) AS left_over,
       EXISTS (SELECT 1 FROM questions WHERE session_id = w.wanted AND state = 'open'
               AND call_key = 'reply') AS open_choices,
       EXISTS (SELECT 1 FROM inbox WHERE channel = :channel AND message_id = :message_id) AS known,
       (SELECT id FROM sessions WHERE channel = :channel AND chat_id = :chat_id AND kind = 'chat'
        AND ended IS NULL ORDER BY updated DESC LIMIT 1) AS active
FROM (SELECT :id AS wanted) w LEFT JOIN sessions s ON s.id = w.wanted;

-- name: active_session
SELECT id FROM sessions
WHERE channel = :channel AND chat_id = :chat_id AND kind = 'chat' AND ended IS NULL
ORDER BY updated DESC LIMIT 1;

-- name: list_sessions
SELECT id, title, channel, chat_id, kind, parent_id, created, updated, turns, ended FROM sessions
WHERE (:channel IS NULL OR channel = :channel) AND (:chat_id IS NULL OR chat_id = :chat_id)
  AND (:kind IS NULL OR kind = :kind)
ORDER BY updated DESC, created DESC LIMIT :limit;

-- name: end_session!
UPDATE sessions SET ended = :now, successor = COALESCE(:successor, successor) WHERE id = :id;

-- name: reopen_session!
UPDATE sessions SET ended = NULL, successor = NULL, updated = :now WHERE id = :id;

-- name: set_title!
UPDATE sessions SET title = :title WHERE id = :id;

-- name: set_model!
UPDATE sessions SET model = :model WHERE id = :id;

-- name: set_failures!
UPDATE sessions SET failures = :failures WHERE id = :id;

-- name: set_question!
UPDATE sessions SET question = :question WHERE id = :id;

-- name: touch_session!
UPDATE sessions SET updated = :now, turns = turns + 1 WHERE id = :id;

-- name: delete_session!
DELETE FROM sessions WHERE id = :id;

-- name: delete_session_messages!
DELETE FROM messages WHERE session_id = :id;

-- name: delete_session_sidecars!
DELETE FROM sidecars WHERE session_id = :id;

-- name: delete_session_steps!
DELETE FROM steps WHERE turn_id IN (SELECT id FROM turns WHERE session_id = :id);

-- name: delete_session_turns!
DELETE FROM turns WHERE session_id = :id;

-- name: delete_session_outbox!
DELETE FROM outbox WHERE session_id = :id;

-- name: delete_session_inbox!
DELETE FROM inbox WHERE session_id = :id;

-- name: set_stable!
UPDATE sessions SET system = :system, tools = :tools, parts = :parts WHERE id = :id;

-- name: touch_history!
UPDATE sessions SET updated = :now WHERE id = :id;

-- name: set_warm!
UPDATE sessions SET warm_until = :warm_until WHERE id = :id;

-- name: delete_session_rewrites!
DELETE FROM rewrites WHERE session_id = :id;
