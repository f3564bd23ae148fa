-- Proposals are questions of core's table.
INSERT INTO questions (id, kind, session_id, channel, chat_id, asker, turn_id, call_key, body,
                       created, expires, handler, subject)
SELECT upper(p.id), 'proposal', p.session_id, COALESCE(s.channel, ''), COALESCE(s.chat_id, ''), '',
       '', '',
       json_build_object('text', 'Run this call?', 'preview', p.what,
                         'choices', json_build_array('Accept', 'Reject'), 'reason', '',
                         'tool', p.call::json ->> 0, 'marks', json_build_array(),
                         'covers', json_build_array(), 'data',
                         json_build_object('arguments', p.call::json -> 1))::text,
       p.created, p.expires, 'provenance', p.fingerprint
FROM provenance_proposals p LEFT JOIN sessions s ON s.id = p.session_id WHERE p.state = 'open';

DROP TABLE provenance_proposals;
