-- name: add!
-- Adds no row if the goal exists, or the chat has reached its limit.
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

-- name: unreported
SELECT * FROM goals_goals WHERE told = 0 ORDER BY created, id;

-- name: mark_reported!
UPDATE goals_goals SET told = 1 WHERE id = :id AND round = :round;

-- name: spend!
UPDATE goals_goals SET tokens = tokens + :tokens, dollars = dollars + :dollars WHERE id = :id;

-- name: next!
-- Ends the turn `round` and starts the next one. Only the first such call changes a row.
UPDATE goals_goals SET round = round + 1, turns = turns + 1, seconds = seconds + :seconds,
       idle = :idle, unjudged = :unjudged, denied = :denied, session_id = :session_id,
       reason = :reason
WHERE id = :id AND round = :round AND state = 'active';

-- name: stop!
-- Stops the goal with the turn `round`; a report follows.
UPDATE goals_goals SET state = :state, turns = turns + 1, seconds = seconds + :seconds,
       idle = :idle, unjudged = :unjudged, denied = :denied, session_id = :session_id,
       reason = :reason, answer = :answer, told = 0
WHERE id = :id AND round = :round AND state = 'active';

-- name: count!
-- Counts the turn `round` of a goal that was stopped meanwhile.
UPDATE goals_goals SET turns = turns + 1, seconds = seconds + :seconds, denied = :denied,
       session_id = :session_id
WHERE id = :id AND round = :round;

-- name: halt!
-- Stops the goal at once, for a person or at the end of the session.
UPDATE goals_goals SET state = :state, reason = :reason, told = CASE WHEN :told = 1 THEN 1 ELSE 0 END
WHERE id = :id AND state = 'active';

-- name: clear!
UPDATE goals_goals SET state = 'cleared', reason = :reason
WHERE id = :id AND state NOT IN ('done', 'cleared');

-- name: resume!
-- A used-up budget is reset.
UPDATE goals_goals SET state = 'active', reason = '', round = round + 1, idle = 0, unjudged = 0,
       told = 1, process = :process, session_id = :session_id,
       turns = CASE WHEN state = 'over' THEN 0 ELSE turns END,
       tokens = CASE WHEN state = 'over' THEN 0 ELSE tokens END,
       dollars = CASE WHEN state = 'over' THEN 0 ELSE dollars END,
       seconds = CASE WHEN state = 'over' THEN 0 ELSE seconds END
WHERE id = :id AND state IN ('paused', 'over', 'blocked');

-- name: take!
-- Takes over a goal of a dead process.
UPDATE goals_goals SET process = :process WHERE id = :id AND process = :was AND state = 'active';

-- name: skip!
-- Skips the turn `round`, which a dead process had started; the next one continues it.
UPDATE goals_goals SET round = round + 1, turns = turns + 1
WHERE id = :id AND round = :round AND state = 'active';

-- name: prune!
DELETE FROM goals_goals WHERE state IN ('done', 'cleared') AND told = 1 AND created < :before;

-- name: ended_turn
-- How the turn of a message ended, from core's tables; no row while it runs.
SELECT t.stop, t.session_id FROM inbox i JOIN turns t ON t.inbox_id = i.id
WHERE i.channel = :channel AND i.message_id = :message_id AND t.state <> 'running';
