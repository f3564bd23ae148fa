-- name: add_row!
INSERT INTO audit_rows (node, n, at, channel, session, turn, kind, verdict, kid, body)
VALUES (:node, :n, :at, :channel, :session, :turn, :kind, :verdict, :kid, :body);

-- name: key_of
SELECT kid, wrapped FROM audit_keys WHERE chat = :chat ORDER BY kid LIMIT 1;

-- name: keys_of
SELECT kid FROM audit_keys WHERE chat = :chat;

-- name: count_rows_of_key
SELECT COUNT(*) AS n FROM audit_rows WHERE kid = :kid;

-- name: all_keys
SELECT kid, wrapped FROM audit_keys;

-- name: add_key!
INSERT INTO audit_keys (kid, chat, wrapped) VALUES (:kid, :chat, :wrapped);

-- name: drop_key!
DELETE FROM audit_keys WHERE kid = :kid;

-- name: drop_unused_keys!
DELETE FROM audit_keys WHERE NOT EXISTS (SELECT 1 FROM audit_rows r WHERE r.kid = audit_keys.kid);

-- name: state
SELECT value, until FROM audit_state WHERE name = :name;

-- name: put_state!
INSERT INTO audit_state (name, value, until) VALUES (:name, :value, 0)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: add_state!
INSERT INTO audit_state (name, value, until) VALUES (:name, :value, 0) ON CONFLICT (name) DO NOTHING;

-- name: take_lease!
UPDATE audit_state SET value = :node, until = :until
WHERE name = 'lease' AND (value = :node OR until <= :now);

-- name: give_lease!
UPDATE audit_state SET until = 0 WHERE name = 'lease' AND value = :node;

-- name: head
SELECT s.seq, s.sha, r.at FROM audit_seals s
LEFT JOIN audit_rows r ON r.node = s.node AND r.n = s.n ORDER BY s.seq DESC LIMIT 1;

-- name: unsealed
SELECT r.node, r.n, r.at, r.channel, r.session, r.turn, r.kind, r.verdict, r.kid, r.body
FROM audit_rows r
WHERE r.at >= :since
  AND NOT EXISTS (SELECT 1 FROM audit_seals s WHERE s.node = r.node AND s.n = r.n)
ORDER BY r.at, r.node, r.n LIMIT :limit;

-- name: seal!
INSERT INTO audit_seals (seq, node, n, sha) VALUES (:seq, :node, :n, :sha);

-- name: sealed_rows
SELECT r.node, r.n, r.at, r.channel, r.session, r.turn, r.kind, r.verdict, r.kid, r.body, s.seq, s.sha
FROM audit_seals s JOIN audit_rows r ON r.node = s.node AND r.n = s.n
WHERE s.seq > :after ORDER BY s.seq LIMIT :limit;

-- name: rows_since
SELECT r.node, r.n, r.at, r.channel, r.session, r.turn, r.kind, r.verdict, r.kid, r.body, s.seq, s.sha
FROM audit_seals s JOIN audit_rows r ON r.node = s.node AND r.n = s.n
WHERE s.seq > :after AND r.at >= :since AND r.at < :until ORDER BY s.seq LIMIT :limit;

-- name: newest_rows
SELECT r.node, r.n, r.at, r.channel, r.session, r.turn, r.kind, r.verdict, r.kid, r.body, s.seq, s.sha
FROM audit_seals s JOIN audit_rows r ON r.node = s.node AND r.n = s.n
WHERE s.seq < :before AND (:kind = '' OR r.kind = :kind) ORDER BY s.seq DESC LIMIT :limit;

-- The last row of those at the beginning that are all older than a moment.
-- name: oldest_kept
SELECT s.seq, s.sha FROM audit_seals s WHERE s.seq < COALESCE(
    (SELECT MIN(k.seq) FROM audit_seals k JOIN audit_rows r ON r.node = k.node AND r.n = k.n
     WHERE r.at >= :before),
    (SELECT MAX(m.seq) + 1 FROM audit_seals m)
) ORDER BY s.seq DESC LIMIT 1;

-- name: last_numbers
SELECT node, MAX(n) AS n FROM audit_seals WHERE seq <= :seq GROUP BY node;

-- name: later_nodes
SELECT DISTINCT r.node FROM audit_rows r
LEFT JOIN audit_seals s ON s.node = r.node AND s.n = r.n
WHERE s.seq IS NULL OR s.seq > :seq;

-- name: prune_rows!
DELETE FROM audit_rows WHERE EXISTS (
    SELECT 1 FROM audit_seals s
    WHERE s.node = audit_rows.node AND s.n = audit_rows.n AND s.seq <= :seq
);

-- name: prune_seals!
DELETE FROM audit_seals WHERE seq <= :seq;

-- Core's table.
-- name: sessions_of
SELECT COUNT(*) AS number FROM sessions WHERE channel = :channel AND chat_id = :chat_id;
