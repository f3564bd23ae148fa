-- name: insert_inbox!
INSERT INTO inbox (id, channel, message_id, chat_id, body, session_id, received, owner, state, files)
VALUES (:id, :channel, :message_id, :chat_id, :body, :session_id, :received, :owner, :state, :files)
ON CONFLICT (channel, message_id) DO NOTHING;

-- name: set_inbox!
UPDATE inbox SET state = :state, session_id = COALESCE(:session_id, session_id) WHERE id = :id;

-- name: close_inbox!
-- The parameters are those of the turn that answered the message.
UPDATE inbox SET state = 'done' WHERE id = :inbox_id;

-- name: queue_inbox!
-- Leaves a message, without an owner, until the session's parked turn has its answer.
UPDATE inbox SET state = 'queued', session_id = :session_id, owner = NULL WHERE id = :id;

-- name: withdraw_inbox!
UPDATE inbox SET state = 'done' WHERE channel = :channel AND chat_id = :chat_id
AND message_id = :message_id AND state = 'queued';

-- name: claim_inbox!
UPDATE inbox SET owner = :node
WHERE id = :id AND state IN ('new', 'queued') AND (owner IS NULL OR owner = :previous);

-- name: claim_pending!
UPDATE inbox SET owner = :node
WHERE id = :id AND state = 'files_pending' AND (owner IS NULL OR owner = :previous);

-- name: complete_files!
-- A message that was withdrawn meanwhile is not changed.
UPDATE inbox SET state = 'new', body = :body, files = NULL, owner = :owner
WHERE id = :id AND state = 'files_pending';

-- name: pending_inbox
-- The plus sign keeps SQLite from using another index than the partial one on open messages.
SELECT * FROM inbox WHERE state <> 'done' AND state = 'files_pending' AND channel = :channel
ORDER BY +received, id;

-- name: open_inbox
-- A message in state taken has a turn, which is finished separately; one in state files_pending
-- waits for its channel, and one in state queued for the answer to a question of its session.
SELECT * FROM inbox WHERE state <> 'done' AND (state = 'new' OR (state = 'queued' AND NOT EXISTS
    (SELECT 1 FROM turns t JOIN questions q ON q.waiting_turn = t.id
     WHERE t.session_id = inbox.session_id AND t.state = 'running' AND t.parked = 1
     AND q.state = 'open' AND (q.expires IS NULL OR q.expires > :now))))
AND (:channel IS NULL OR (channel = :channel AND chat_id = :chat_id)) ORDER BY +received, id;

-- name: prune_inbox!
DELETE FROM inbox WHERE state = 'done' AND received < :before;

-- name: prune_outbox!
DELETE FROM outbox WHERE state IN ('sent', 'failed') AND created < :before;

-- name: insert_turn!
INSERT INTO turns (id, session_id, inbox_id, number, started, owner)
VALUES (:id, :session_id, :inbox_id,
        (SELECT COALESCE(MAX(number), 0) + 1 FROM turns WHERE session_id = :session_id), :now,
        :owner);

-- name: claim_turn!
UPDATE turns SET owner = :node, resumes = resumes + CASE WHEN owner = :node OR parked = 1 THEN 0 ELSE 1 END,
                 parked = 0
WHERE id = :id AND state = 'running' AND (owner IS NULL OR owner = :previous);

-- name: end_turn!
-- If message number last is not stored, state becomes null, which the table rejects.
UPDATE turns SET state = CASE WHEN :last IS NULL OR EXISTS
                     (SELECT 1 FROM messages WHERE session_id = :session_id AND seq = :last)
                     THEN :state END, stop = :stop, iterations = :iterations, error = :error,
                 ended = :now
WHERE id = :id;

-- name: open_turns
-- Without the turns that wait for an answer, unless waiting is 1.
SELECT t.*, i.body AS inbound FROM turns t LEFT JOIN inbox i ON i.id = t.inbox_id
WHERE t.session_id = :session_id AND t.state = 'running' AND (:waiting = 1 OR NOT EXISTS
    (SELECT 1 FROM questions q WHERE t.parked = 1 AND q.waiting_turn = t.id AND q.state = 'open'
     AND (q.expires IS NULL OR q.expires > :now)))
ORDER BY t.number;

-- name: running_turns
SELECT t.*, i.body AS inbound, s.channel AS channel FROM turns t
JOIN sessions s ON s.id = t.session_id LEFT JOIN inbox i ON i.id = t.inbox_id
WHERE t.session_id = :session_id AND t.state = 'running' ORDER BY t.number;

-- name: turn
SELECT * FROM turns WHERE id = :id;

-- name: sessions_with_open_turns
SELECT DISTINCT t.session_id FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'running' AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
AND NOT EXISTS (SELECT 1 FROM questions q WHERE t.parked = 1 AND q.waiting_turn = t.id AND q.state = 'open'
                AND (q.expires IS NULL OR q.expires > :now));

-- name: undo_turn!
UPDATE turns SET state = 'undone' WHERE id = :id;

-- name: insert_message!
INSERT INTO messages (session_id, seq, turn_id, role, body, text, created)
VALUES (:session_id, :seq, :turn_id, :role, :body, :text, :now);

-- name: messages
SELECT m.seq, m.turn_id, m.role, m.body, m.created, s.text AS context
FROM messages m LEFT JOIN sidecars s ON s.session_id = m.session_id AND s.seq = m.seq
WHERE m.session_id = :session_id AND m.seq >= :first ORDER BY m.seq;

-- name: delete_turn_messages!
DELETE FROM messages WHERE session_id = :session_id AND turn_id = :turn_id;

-- name: delete_turn_sidecars!
DELETE FROM sidecars WHERE session_id = :session_id AND seq IN
    (SELECT seq FROM messages WHERE session_id = :session_id AND turn_id = :turn_id);

-- name: drop_sidecars!
DELETE FROM sidecars WHERE session_id = :session_id AND seq NOT IN
    (SELECT seq FROM messages WHERE session_id = :session_id AND turn_id = :turn_id);

-- name: insert_rewrite!
INSERT INTO rewrites (session_id, number, first, last, turn_id, bodies, created)
VALUES (:session_id,
        (SELECT COALESCE(MAX(number), 0) + 1 FROM rewrites WHERE session_id = :session_id),
        :first, :last, :turn_id, :bodies, :now);

-- name: rewrites
SELECT first, last, turn_id, bodies FROM rewrites WHERE session_id = :session_id ORDER BY number;

-- name: delete_turn_rewrites!
DELETE FROM rewrites WHERE session_id = :session_id AND turn_id = :turn_id;

-- name: set_sidecar!
INSERT INTO sidecars (session_id, seq, text) VALUES (:session_id, :seq, :text)
ON CONFLICT (session_id, seq) DO UPDATE SET text = excluded.text;

-- name: insert_step!
INSERT INTO steps (turn_id, call_id, seq, name, arguments, read_only, state, started)
VALUES (:turn_id, :call_id, :seq, :name, :arguments, :read_only, 'asked', :now)
ON CONFLICT (turn_id, call_id) DO NOTHING;

-- name: start_step!
UPDATE steps SET state = 'started', started = :now WHERE turn_id = :turn_id AND call_id = :call_id;

-- name: finish_step!
UPDATE steps SET state = 'finished', ok = :ok, result = :result, seconds = :seconds, origins = :origins
WHERE turn_id = :turn_id AND call_id = :call_id;

-- name: steps
SELECT * FROM steps WHERE turn_id = :turn_id ORDER BY seq;

-- name: insert_usage!
INSERT INTO usage (session_id, turn_id, model, purpose, input, cache_read, cache_write,
                   cache_write_1h, input_cost, output, reasoning, broken, created)
VALUES (:session_id, :turn_id, :model, :purpose, :input, :cache_read, :cache_write,
        :cache_write_1h, :input_cost, :output, :reasoning, :broken, :now);

-- name: turn_usage
SELECT COUNT(*) AS requests, COALESCE(SUM(input), 0) AS input,
       COALESCE(SUM(cache_read), 0) AS cache_read, COALESCE(SUM(cache_write), 0) AS cache_write,
       COALESCE(SUM(output), 0) AS output, COALESCE(SUM(reasoning), 0) AS reasoning,
       COALESCE(SUM(cache_write_1h), 0) AS cache_write_1h,
       COALESCE(SUM(input_cost), 0) AS input_cost
FROM usage WHERE turn_id = :turn_id AND purpose = 'turn';

-- name: insert_outbox!
INSERT INTO outbox (id, session_id, turn_id, channel, chat_id, body, state, due, created, owner)
VALUES (:id, :session_id, :turn_id, :channel, :chat_id, :body, 'pending', :now, :now, :owner)
ON CONFLICT (id) DO NOTHING;

-- Claims a reply, for delivery from memory, if no other reply of its chat is waiting.
-- name: claim_new_reply!
UPDATE outbox SET state = 'sending', attempts = 1
WHERE id = :id AND state = 'pending' AND NOT EXISTS
    (SELECT 1 FROM outbox o WHERE o.channel = :channel AND o.chat_id = :chat_id AND o.id <> :id
     AND o.state IN ('pending', 'sending'));

-- name: claim_outbox!
UPDATE outbox SET state = 'sending', owner = :node, attempts = attempts + 1
WHERE id = :id AND state IN ('pending', 'sending') AND (owner IS NULL OR owner = :previous);

-- name: postpone_outbox!
UPDATE outbox SET state = 'pending', due = :due, owner = :owner WHERE id = :id;

-- name: close_outbox!
-- Once the reply is sent, due is the time at which it was sent.
UPDATE outbox SET state = :state, due = :now, delivered_id = COALESCE(:delivered_id, delivered_id)
WHERE id = :id;

-- name: last_delivery
-- When the reply of the session's last turn was sent; far in the future while it is not sent yet.
SELECT CASE WHEN state IN ('sent', 'failed') THEN due
            WHEN channel = 'terminal' THEN 0.0 ELSE 1e18 END AS at
FROM outbox WHERE session_id = :session_id AND turn_id IS NOT NULL
ORDER BY created DESC, id DESC LIMIT 1;

-- name: reply
SELECT body FROM outbox WHERE id = :id;

-- name: open_outbox
SELECT * FROM outbox WHERE state IN ('pending', 'sending') AND channel = :channel
ORDER BY created, id;
