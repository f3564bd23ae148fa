SELECT s.id, COALESCE(s.title, (SELECT substr(m.text, 1, 60) FROM messages m
                                WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
                                ORDER BY m.seq LIMIT 1))
FROM sessions s ORDER BY s.updated DESC, s.created DESC LIMIT ?;
