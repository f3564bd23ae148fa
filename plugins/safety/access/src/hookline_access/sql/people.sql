-- One person, and every admin.
-- name: person_and_admins
SELECT channel, user_id, role, message_id FROM access_people
WHERE role = 'admin' OR (channel = :channel AND user_id = :user_id);

-- name: people
SELECT channel, user_id, role, by_whom, since FROM access_people ORDER BY since, channel, user_id;

-- name: put_person!
INSERT INTO access_people (channel, user_id, role, code, message_id, by_whom, since)
VALUES (:channel, :user_id, :role, :code, :message_id, :by_whom, :now)
ON CONFLICT (channel, user_id) DO UPDATE SET
    role = excluded.role, code = excluded.code, message_id = excluded.message_id,
    by_whom = excluded.by_whom, since = excluded.since;

-- name: drop_person!
DELETE FROM access_people WHERE channel = :channel AND user_id = :user_id;

-- name: let_in_by
SELECT channel, user_id, role FROM access_people WHERE code = :code AND role <> 'blocked';

-- name: add_log!
INSERT INTO access_log (number, at, person, what)
SELECT COALESCE(MAX(number), 0) + 1, :now, :person, :what FROM access_log;

-- Keeps the newest entries, separately for those that anyone can cause and for the others.
-- name: prune_log!
DELETE FROM access_log WHERE number NOT IN (
    SELECT number FROM (
        SELECT number FROM access_log WHERE what IN (:asked, :wrong)
        ORDER BY number DESC LIMIT :kept
    ) AS said
    UNION ALL
    SELECT number FROM (
        SELECT number FROM access_log WHERE what NOT IN (:asked, :wrong)
        ORDER BY number DESC LIMIT :kept
    ) AS decided
);

-- name: newest_log
SELECT at, person, what FROM access_log ORDER BY number DESC LIMIT :limit;
