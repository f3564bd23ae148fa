-- Proposals are questions of core's table.
INSERT INTO questions (id, kind, session_id, channel, chat_id, asker, turn_id, call_key, body,
                       created, expires, handler, subject)
SELECT upper(p.id), 'proposal', p.session_id, COALESCE(s.channel, ''), COALESCE(s.chat_id, ''), '',
       '', '',
       json_object('text', 'Run this call?', 'preview', p.what,
                   'choices', json_array('Accept', 'Reject'), 'reason', '',
                   'tool', json_extract(p.call, '$[0]'), 'marks', json_array(),
                   'covers', json_array(), 'data',
                   json_object('arguments', json(json_extract(p.call, '$[1]')))),
       p.created, p.expires, 'provenance', p.fingerprint
FROM provenance_proposals p LEFT JOIN sessions s ON s.id = p.session_id WHERE p.state = 'open';

DROP TABLE provenance_proposals;
