-- name: add!
INSERT INTO standup_notes (channel, chat_id, author, day, noted, text, blocker)
VALUES (:channel, :chat_id, :author, :day, :noted, :text, :blocker);

-- name: notes_since
SELECT author, day, text, blocker FROM standup_notes
WHERE channel = :channel AND chat_id = :chat_id AND day >= :since
ORDER BY noted;

-- name: open_blockers
-- A blocker is open until its author's next stand-up.
SELECT author, day, blocker FROM standup_notes AS note
WHERE channel = :channel AND chat_id = :chat_id AND day < :today AND blocker <> ''
    AND NOT EXISTS (
        SELECT 1 FROM standup_notes AS later
        WHERE later.channel = note.channel AND later.chat_id = note.chat_id
            AND later.author = note.author AND later.day > note.day
    )
ORDER BY noted;

-- name: clear_day!
DELETE FROM standup_notes WHERE channel = :channel AND chat_id = :chat_id AND day = :day;

-- name: prune!
DELETE FROM standup_notes WHERE day < :oldest;
