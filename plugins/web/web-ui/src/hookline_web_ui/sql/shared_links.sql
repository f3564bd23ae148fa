-- The last message of a session's finished turns.
-- name: last_shareable
SELECT MAX(m.seq) AS seq, MAX(m.created) AS created
FROM messages m LEFT JOIN turns t ON t.id = m.turn_id
WHERE m.session_id = :id AND COALESCE(t.state, 'done') <> 'running';

-- name: put_shared_link!
INSERT INTO web_ui_shared_links
    (id, digest, session_id, owner, title, last_seq, last_created, created, expires)
VALUES (:id, :digest, :session_id, :owner, :title, :last_seq, :last_created, :created, :expires);

-- A link whose chat still exists. A chat that was created again with the same id is another one.
-- name: shared_link
SELECT l.id, l.session_id, l.owner, l.title, l.last_seq, l.last_created, l.created, l.expires
FROM web_ui_shared_links l JOIN sessions s ON s.id = l.session_id
WHERE l.digest = :digest
  AND s.channel = 'web' AND s.chat_id = l.owner AND s.created <= l.created;

-- The links that work: of a person, or of one of their chats with its versions; of everyone without an owner.
-- name: shared_links_of
SELECT l.id, l.session_id, l.owner, l.title, l.created, l.expires
FROM web_ui_shared_links l JOIN sessions s ON s.id = l.session_id
WHERE (:owner IS NULL OR l.owner = :owner) AND l.expires > :now AND s.created <= l.created
  AND (:session IS NULL OR l.session_id = :session OR l.session_id IN
       (SELECT id FROM web_ui_versions
        WHERE root = (SELECT root FROM web_ui_versions WHERE id = :session)))
ORDER BY l.created DESC, l.id;

-- name: shared_link_of
SELECT id, session_id FROM web_ui_shared_links
WHERE id = :id AND (:owner IS NULL OR owner = :owner);

-- Messages that were deleted and written again since have a later time.
-- name: shared_messages
SELECT seq, turn_id, role, body, created FROM messages
WHERE session_id = :id AND seq <= :last_seq AND created <= :last_created ORDER BY seq;

-- name: forget_shared_link!
DELETE FROM web_ui_shared_links WHERE id = :id;

-- name: forget_shared_links!
DELETE FROM web_ui_shared_links WHERE session_id = :session_id;

-- name: prune_shared_links!
DELETE FROM web_ui_shared_links
WHERE expires <= :before OR NOT EXISTS
    (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.created <= web_ui_shared_links.created);
