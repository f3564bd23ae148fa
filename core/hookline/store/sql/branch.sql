-- A copy of a session up to a message, as a session of the same or another chat. Its turns have ids of their own,
-- so that undoing one of them leaves the original alone.

-- name: branch_session!
INSERT INTO sessions (id, channel, chat_id, kind, title, model, system, tools, workspace,
                      parts, summary, question, turns, created, updated, warm_until)
SELECT :new, :channel, :chat_id, 'chat', s.title, s.model, s.system, s.tools, s.workspace,
       s.parts, s.summary, NULL,
       (SELECT COUNT(DISTINCT turn_id) FROM messages WHERE session_id = s.id AND seq < :before),
       :now, :now, s.warm_until
FROM sessions s WHERE s.id = :id;

-- name: branch_messages!
INSERT INTO messages (session_id, seq, turn_id, role, body, text, created)
SELECT :new, seq, turn_id || :mark, role, body, text, created FROM messages
WHERE session_id = :id AND seq < :before;

-- name: branch_sidecars!
INSERT INTO sidecars (session_id, seq, text)
SELECT :new, seq, text FROM sidecars WHERE session_id = :id AND seq < :before;

-- name: branch_rewrites!
INSERT INTO rewrites (session_id, number, first, last, turn_id, bodies, created)
SELECT :new, number, first, last, turn_id || :mark, bodies, created FROM rewrites
WHERE session_id = :id AND last < :before;

-- name: branch_turns!
INSERT INTO turns (id, session_id, inbox_id, number, state, stop, iterations, error, started, ended)
SELECT id || :mark, :new, NULL, number, state, stop, iterations, error, started, ended FROM turns
WHERE session_id = :id AND state <> 'running' AND EXISTS
    (SELECT 1 FROM messages m
     WHERE m.session_id = :id AND m.turn_id = turns.id AND m.seq < :before);

-- name: branch_steps!
INSERT INTO steps (turn_id, call_id, seq, name, arguments, read_only, state, ok, result, seconds,
                   started, origins)
SELECT turn_id || :mark, call_id, seq, name, arguments, read_only, state, ok, result, seconds,
       started, origins
FROM steps WHERE turn_id IN (SELECT id FROM turns WHERE session_id = :id)
    AND turn_id || :mark IN (SELECT id FROM turns WHERE session_id = :new);

-- name: first_open_seq
SELECT MIN(m.seq) AS seq FROM messages m JOIN turns t ON t.id = m.turn_id
WHERE m.session_id = :id AND t.session_id = :id AND t.state = 'running';

-- name: last_seq
SELECT MAX(seq) AS seq FROM messages WHERE session_id = :id;
