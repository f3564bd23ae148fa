-- A full merge of an index of which nearly all is deleted damages it (seen with SQLite 3.40: after
-- 950 of 1,000 sessions the integrity check fails, and the last deletions are refused). A small
-- index is built anew instead, which takes some ten milliseconds and drops the words as well.
DROP TRIGGER session_search_sessions_gone;

CREATE TRIGGER session_search_sessions_gone AFTER DELETE ON session_search_sessions BEGIN
    INSERT OR IGNORE INTO session_search_deleted (id) VALUES (old.id);
    INSERT INTO session_search_texts (session_search_texts, rank)
        SELECT 'merge', -1000 WHERE EXISTS
            (SELECT 1 FROM session_search_messages LIMIT 1 OFFSET 2500);
    INSERT INTO session_search_texts (session_search_texts)
        SELECT 'rebuild' WHERE NOT EXISTS
            (SELECT 1 FROM session_search_messages LIMIT 1 OFFSET 2500);
END;
