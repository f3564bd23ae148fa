-- name: add!
-- Touches no row if the goal is there already, or the chat has as many as it may.
INSERT INTO goals_goals (id, kind, channel, chat_id, user_id, address, session_id, workspace, goal,
                         state, process, created)
SELECT :id, :kind, :channel, :chat_id, :user_id, :address, :session_id, :workspace, :goal, 'active',
       :process, :now
WHERE (SELECT COUNT(*) FROM goals_goals
       WHERE channel = :channel AND chat_id = :chat_id AND kind = :kind
         AND (state = 'active' OR (:kind = 'goal' AND state IN ('paused', 'over', 'blocked')))
      ) < :most
ON CONFLICT (id) DO NOTHING;

-- name: goal
SELECT * FROM goals_goals WHERE id = :id;

-- name: of_chat
SELECT * FROM goals_goals WHERE channel = :channel AND chat_id = :chat_id
ORDER BY created DESC, id LIMIT 50;

-- name: active
SELECT * FROM goals_goals WHERE state = 'active' ORDER BY created, id;

-- name: untold
SELECT * FROM goals_goals WHERE told = 0 ORDER BY created, id;

-- name: tell!
UPDATE goals_goals SET told = 1 WHERE id = :id AND round = :round;

-- name: spend!
UPDATE goals_goals SET tokens = tokens + :tokens, dollars = dollars + :dollars WHERE id = :id;

-- name: next!
-- The turn `round` is over and the next one is due. Touches one row for whoever says so first.
UPDATE goals_goals SET round = round + 1, turns = turns + 1, seconds = seconds + :seconds,
       idle = :idle, unjudged = :unjudged, denied = :denied, session_id = :session_id,
       reason = :reason
WHERE id = :id AND round = :round AND state = 'active';

-- name: stop!
-- The goal stops with the turn `round`, and that is reported.
UPDATE goals_goals SET state = :state, turns = turns + 1, seconds = seconds + :seconds,
       idle = :idle, unjudged = :unjudged, denied = :denied, session_id = :session_id,
       reason = :reason, answer = :answer, told = 0
WHERE id = :id AND round = :round AND state = 'active';

-- name: count!
-- The turn `round` of a goal that somebody has stopped meanwhile is over.
UPDATE goals_goals SET turns = turns + 1, seconds = seconds + :seconds, denied = :denied,
       session_id = :session_id
WHERE id = :id AND round = :round;

-- name: halt!
-- A person, or the end of the session, stops it at once.
UPDATE goals_goals SET state = :state, reason = :reason, told = CASE WHEN :told = 1 THEN 1 ELSE 0 END
WHERE id = :id AND state = 'active';

-- name: clear!
UPDATE goals_goals SET state = 'cleared', reason = :reason
WHERE id = :id AND state NOT IN ('done', 'cleared');

-- name: resume!
-- A used-up budget begins anew.
UPDATE goals_goals SET state = 'active', reason = '', round = round + 1, idle = 0, unjudged = 0,
       told = 1, process = :process, session_id = :session_id,
       turns = CASE WHEN state = 'over' THEN 0 ELSE turns END,
       tokens = CASE WHEN state = 'over' THEN 0 ELSE tokens END,
       dollars = CASE WHEN state = 'over' THEN 0 ELSE dollars END,
       seconds = CASE WHEN state = 'over' THEN 0 ELSE seconds END
WHERE id = :id AND state IN ('paused', 'over', 'blocked');

-- name: take!
-- Another process has died over it.
UPDATE goals_goals SET process = :process WHERE id = :id AND process = :was AND state = 'active';

-- name: skip!
-- The turn `round` was begun by a process that died; the next one goes on from it.
UPDATE goals_goals SET round = round + 1, turns = turns + 1
WHERE id = :id AND round = :round AND state = 'active';

-- name: prune!
DELETE FROM goals_goals WHERE state IN ('done', 'cleared') AND told = 1 AND created < :before;

-- name: ended_turn
-- How the turn of a message ended, in core's tables; no row while it is under way.
SELECT t.stop, t.session_id FROM inbox i JOIN turns t ON t.inbox_id = i.id
WHERE i.channel = :channel AND i.message_id = :message_id AND t.state <> 'running';
