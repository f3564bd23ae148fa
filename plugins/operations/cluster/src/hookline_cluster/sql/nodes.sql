-- name: beat!
INSERT INTO cluster_nodes (id, kind, place, beat, turns)
VALUES (:id, :kind, :place, extract(epoch FROM clock_timestamp())::double precision, :turns)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, beat = excluded.beat, turns = excluded.turns;

-- name: leave!
DELETE FROM cluster_nodes WHERE id = :id;

-- name: forget!
DELETE FROM cluster_nodes
WHERE beat < extract(epoch FROM clock_timestamp())::double precision - :seconds;

-- name: nodes
SELECT id, kind, place, beat, turns FROM cluster_nodes
WHERE beat >= extract(epoch FROM clock_timestamp())::double precision - :seconds ORDER BY kind, id;

-- name: counts
SELECT (SELECT COUNT(*) FROM inbox WHERE state NOT IN ('done', 'taken')
        AND channel <> 'terminal') AS waiting,
       (SELECT COUNT(*) FROM turns WHERE state = 'running') AS open;

-- name: unclaimed
-- Whether a chat has a message that the owner of its lane may work on.
SELECT 1 FROM inbox WHERE state = 'new' AND owner IS NULL
AND channel = :channel AND chat_id = :chat_id LIMIT 1;

-- name: left
-- Chats with a message or a running turn that no live process owns, without those that wait for an
-- answer. The tables owners, nodes and beats are the store's own.
WITH living AS (
    SELECT substr(o.key, 6) AS node FROM owners o JOIN nodes n ON n.id = o.node
    JOIN beats b ON b.id = n.id
    WHERE substr(o.key, 1, 5) = 'node:'
    AND b.beat > extract(epoch FROM clock_timestamp())::double precision - :fresh)
SELECT channel, chat_id FROM inbox WHERE state = 'new' AND channel <> 'terminal'
AND (owner IS NULL OR owner NOT IN (SELECT node FROM living))
UNION
SELECT s.channel, s.chat_id FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'running' AND s.kind = 'chat' AND s.channel <> 'terminal'
AND (t.owner IS NULL OR t.owner NOT IN (SELECT node FROM living))
AND NOT EXISTS (SELECT 1 FROM questions q WHERE t.parked = 1 AND q.turn_id = t.id
                AND q.state = 'open')
UNION
SELECT i.channel, i.chat_id FROM inbox i WHERE i.state = 'queued' AND NOT EXISTS
    (SELECT 1 FROM turns t JOIN questions q ON q.turn_id = t.id
     WHERE t.session_id = i.session_id AND t.state = 'running' AND t.parked = 1
     AND q.state = 'open');

-- name: unsent
-- Chats with a reply that no process has claimed.
SELECT DISTINCT channel, chat_id FROM outbox
WHERE state IN ('pending', 'sending') AND owner IS NULL AND channel <> 'terminal';
