-- The closed questions of a conversation: a session, its successors, and their sub-agents. Those
-- that a reply ended with are left out: their answers are messages.
-- name: answers
SELECT q.id, q.kind, q.state, q.choice, q.words, q.answered_by, q.closed FROM questions q
WHERE q.state <> 'open' AND q.closed >= :since AND q.call_key <> 'reply'
  AND (q.session_id = :named OR q.session_id LIKE :following OR EXISTS
       (SELECT 1 FROM sessions s WHERE s.id = q.session_id AND s.kind <> 'chat'
        AND (s.parent_id = :named OR s.parent_id LIKE :following)))
ORDER BY q.closed DESC, q.id LIMIT :limit;
