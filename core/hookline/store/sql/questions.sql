-- name: insert_question!
INSERT INTO questions (id, kind, session_id, channel, chat_id, asker, turn_id, call_key, body,
                       created, expires, handler, subject, waiting_turn, same_call)
VALUES (:id, :kind, :session_id, :channel, :chat_id, :asker, :turn_id, :call_key, :body, :created,
        :expires, :handler, :subject, :waiting_turn, :same_call);

-- name: insert_question_call!
INSERT INTO question_calls (turn_id, call_key, question_id)
VALUES (:turn_id, :call_key, :question_id) ON CONFLICT (turn_id, call_key) DO NOTHING;

-- name: question
SELECT * FROM questions WHERE id = :id;

-- name: question_of_call
SELECT * FROM questions WHERE (turn_id = :turn_id AND call_key = :call_key) OR id =
    (SELECT c.question_id FROM question_calls c
     WHERE c.turn_id = :turn_id AND c.call_key = :call_key)
ORDER BY created DESC LIMIT 1;

-- name: open_about_call
-- The open question about the same call, of the same turn or of its sub-agents.
SELECT * FROM questions WHERE waiting_turn = :waiting_turn AND same_call = :same_call
AND state = 'open' AND (expires IS NULL OR expires > :now);

-- name: answered_by_message
SELECT * FROM questions WHERE message = :message AND message <> '' AND answered_by = :by;

-- name: open_questions
-- Of a session's turns, of those that belong to a chat or are shown there, or all; without those
-- that a reply ended with, whose answer is a message.
SELECT q.* FROM questions q WHERE q.state = 'open' AND (q.expires IS NULL OR q.expires > :now)
AND q.call_key <> 'reply'
AND (:session_id IS NULL OR (q.handler = '' AND (q.session_id = :session_id OR EXISTS
     (SELECT 1 FROM turns t WHERE t.id = q.waiting_turn AND t.session_id = :session_id))))
AND (:channel IS NULL OR (q.channel = :channel AND q.chat_id = :chat_id) OR EXISTS
     (SELECT 1 FROM question_chats c WHERE c.question_id = q.id AND c.channel = :channel
      AND c.chat_id = :chat_id))
ORDER BY q.created, q.id;

-- name: open_of_turn
-- Of a turn and of its sub-agents.
SELECT * FROM questions WHERE (turn_id = :turn_id OR waiting_turn = :turn_id) AND state = 'open';

-- name: shown_questions
-- The open questions that are shown in a chat, with the message that shows them (delivered_id) and
-- when it was sent; both are null until then.
SELECT q.*, c.person AS person, o.delivered_id AS delivered_id,
       CASE WHEN o.state = 'sent' THEN o.due END AS sent
FROM question_chats c JOIN questions q ON q.id = c.question_id
LEFT JOIN outbox o ON o.id = c.reply_id
WHERE c.channel = :channel AND c.chat_id = :chat_id AND q.state = 'open'
AND (q.expires IS NULL OR q.expires > :now)
ORDER BY q.created, q.id;

-- name: open_choices
-- The questions that earlier replies of the session ended with.
SELECT * FROM questions WHERE session_id = :session_id AND state = 'open' AND call_key = 'reply';

-- name: closed_questions
-- The closed questions, with each chat that has not learned it.
SELECT q.*, c.channel AS shown_channel, c.chat_id AS shown_chat, c.person AS person,
       c.reply_id AS reply_id, o.delivered_id AS delivered_id
FROM question_chats c JOIN questions q ON q.id = c.question_id
LEFT JOIN outbox o ON o.id = c.reply_id
WHERE c.closed = 0 AND q.state NOT IN ('open', 'held') AND (o.state IS NULL OR o.state <> 'sending');

-- name: withdraw_reply!
-- A reply that was not sent yet is not sent any more. It may be withdrawn twice, if a process died in between.
UPDATE outbox SET state = 'failed'
WHERE id = :id AND (state = 'pending' OR (state = 'failed' AND delivered_id IS NULL));

-- name: close_question_chat!
UPDATE question_chats SET closed = 1
WHERE question_id = :id AND channel = :channel AND chat_id = :chat_id AND closed = 0;

-- name: insert_question_chat!
INSERT INTO question_chats (question_id, channel, chat_id, person, reply_id)
VALUES (:question_id, :channel, :chat_id, :person, :reply_id)
ON CONFLICT (question_id, channel, chat_id) DO NOTHING;

-- name: answer_question!
UPDATE questions SET state = 'answered', choice = :choice, words = :words, answered_by = :by,
                     message = :message, closed = :now, handling = :node, handled = :handled
WHERE id = :id AND state = 'open' AND (expires IS NULL OR expires > :now);

-- name: open_about
SELECT * FROM questions WHERE handler = :handler AND subject = :subject AND state = 'open'
AND (expires IS NULL OR expires > :now);

-- name: unhandled_questions
SELECT * FROM questions WHERE handler <> '' AND state = 'answered' AND handled = 0;

-- name: claim_question!
UPDATE questions SET handling = :node
WHERE id = :id AND state = 'answered' AND handled = 0 AND (handling IS NULL OR handling = :previous);

-- name: question_handled!
UPDATE questions SET handled = 1 WHERE id = :id;

-- name: reopen_question!
UPDATE questions SET state = 'open', choice = '', words = '', answered_by = '', message = '',
                     closed = NULL, handling = NULL
WHERE id = :id AND state = 'answered' AND handled = 0;

-- name: close_question!
UPDATE questions SET state = :state, closed = :now WHERE id = :id AND state = 'open';

-- name: expired_questions
SELECT * FROM questions WHERE state = 'open' AND expires <= :now;

-- name: next_expiry
SELECT MIN(expires) AS at FROM questions WHERE state = 'open';

-- name: prune_questions!
DELETE FROM questions WHERE state <> 'open' AND closed < :before
AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = questions.turn_id AND t.state = 'running');

-- name: prune_question_calls!
DELETE FROM question_calls WHERE NOT EXISTS
    (SELECT 1 FROM questions q WHERE q.id = question_calls.question_id);

-- name: prune_question_chats!
DELETE FROM question_chats WHERE NOT EXISTS
    (SELECT 1 FROM questions q WHERE q.id = question_chats.question_id);

-- name: park_turn!
UPDATE turns SET parked = 1, owner = NULL, resumes = 0 WHERE id = :id AND state = 'running';

-- name: parked_turn
-- The session's turn that waits for an answer.
SELECT t.id FROM turns t WHERE t.session_id = :session_id AND t.state = 'running' AND t.parked = 1
AND EXISTS (SELECT 1 FROM questions q WHERE q.waiting_turn = t.id AND q.state = 'open'
            AND (q.expires IS NULL OR q.expires > :now));

-- name: answered_turns
-- Parked turns that no open question holds any more, with the chats of their sessions.
SELECT t.session_id, s.channel, s.chat_id FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'running' AND t.parked = 1 AND s.kind = 'chat' AND NOT EXISTS
    (SELECT 1 FROM questions q WHERE q.waiting_turn = t.id AND q.state = 'open'
     AND (q.expires IS NULL OR q.expires > :now));

-- name: set_steering!
UPDATE turns SET steering = :steering WHERE id = :id;

-- name: steering
SELECT steering FROM turns WHERE id = :id;

-- name: delete_session_question_chats!
DELETE FROM question_chats WHERE question_id IN
    (SELECT id FROM questions WHERE session_id = :id);

-- name: delete_session_question_calls!
DELETE FROM question_calls WHERE question_id IN
    (SELECT id FROM questions WHERE session_id = :id);

-- name: delete_session_questions!
DELETE FROM questions WHERE session_id = :id;
