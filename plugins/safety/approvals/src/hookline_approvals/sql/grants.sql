-- name: find_grant
SELECT session_id FROM approvals_grants
WHERE channel = :channel AND chat_id = :chat_id AND person = :person AND fingerprint = :fingerprint
  AND (session_id = '' OR (session_id = :session_id AND session_created = :session_created))
ORDER BY session_id LIMIT 1;

-- name: add_grant!
INSERT INTO approvals_grants (number, channel, chat_id, person, fingerprint, session_id,
                              session_created, tool, shown, granted)
SELECT COALESCE(MAX(number), 0) + 1, :channel, :chat_id, :person, :fingerprint, :session_id,
       :session_created, :tool, :shown, :granted
FROM approvals_grants
WHERE 1 = 1
ON CONFLICT (channel, chat_id, person, fingerprint, session_id, session_created) DO NOTHING;

-- name: all_grants
SELECT number, channel, chat_id, person, session_id, tool, shown, granted
FROM approvals_grants ORDER BY number;

-- name: revoke_grant!
DELETE FROM approvals_grants WHERE number = :number;

-- name: end_session_grants!
DELETE FROM approvals_grants WHERE session_id = :session_id;

-- The grants of a session's chat that end with it, for a copy in the same chat.
-- name: copy_session_grants!
INSERT INTO approvals_grants (number, channel, chat_id, person, fingerprint, session_id,
                              session_created, tool, shown, granted)
SELECT (SELECT MAX(number) FROM approvals_grants) + ROW_NUMBER() OVER (ORDER BY number),
       channel, chat_id, person, fingerprint, :new, :created, tool, shown, granted
FROM approvals_grants
WHERE session_id = :session_id AND session_created = :session_created
  AND channel = :channel AND chat_id = :chat_id
ON CONFLICT (channel, chat_id, person, fingerprint, session_id, session_created) DO NOTHING;
