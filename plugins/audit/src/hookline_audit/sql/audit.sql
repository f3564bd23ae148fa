-- name: add_row!
INSERT INTO audit_rows (node, n, at, channel, session, turn, kind, verdict, kid, body)
VALUES (:node, :n, :at, :channel, :session, :turn, :kind, :verdict, :kid, :body);

-- name: key_of
SELECT kid, wrapped FROM audit_keys WHERE chat = :chat ORDER BY kid LIMIT 1;

-- name: keys_of
SELECT kid FROM audit_keys WHERE chat = :chat;

-- name: all_keys
SELECT kid, wrapped FROM audit_keys;

-- name: add_key!
INSERT INTO audit_keys (kid, chat, wrapped) VALUES (:kid, :chat, :wrapped);

-- name: blank_key!
UPDATE audit_keys SET wrapped = :blank, chat = :kid WHERE kid = :kid;

-- name: drop_key!
DELETE FROM audit_keys WHERE kid = :kid;

-- name: drop_unused_keys!
DELETE FROM audit_keys
WHERE kid <> :kept AND NOT EXISTS (SELECT 1 FROM audit_rows r WHERE r.kid = audit_keys.kid);

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
SELECT seq, sha FROM audit_rows WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1;

-- name: unsealed
SELECT node, n, at, channel, session, turn, kind, verdict, kid, body FROM audit_rows
WHERE seq IS NULL ORDER BY at, node, n LIMIT :limit;

-- name: seal!
UPDATE audit_rows SET seq = :seq, sha = :sha WHERE node = :node AND n = :n AND seq IS NULL;

-- name: sealed_rows
SELECT node, n, at, channel, session, turn, kind, verdict, kid, body, seq, sha FROM audit_rows
WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: rows_since
SELECT node, n, at, channel, session, turn, kind, verdict, kid, body, seq, sha FROM audit_rows
WHERE seq > :after AND at >= :since AND at < :until ORDER BY seq LIMIT :limit;

-- name: newest_rows
SELECT node, n, at, channel, session, turn, kind, verdict, kid, body, seq, sha FROM audit_rows
WHERE seq < :before AND (:kind = '' OR kind = :kind) ORDER BY seq DESC LIMIT :limit;

-- name: row_at
SELECT seq, sha FROM audit_rows WHERE seq = :seq;

-- name: oldest_kept
SELECT seq, sha FROM audit_rows WHERE seq < (
    SELECT COALESCE(MIN(seq), (SELECT COALESCE(MAX(seq), 0) + 1 FROM audit_rows))
    FROM audit_rows WHERE seq IS NOT NULL AND at >= :before
) ORDER BY seq DESC LIMIT 1;

-- name: last_numbers
SELECT node, MAX(n) AS n FROM audit_rows WHERE seq <= :seq GROUP BY node;

-- name: later_nodes
SELECT DISTINCT node FROM audit_rows WHERE seq IS NULL OR seq > :seq;

-- name: prune!
DELETE FROM audit_rows WHERE seq <= :seq;
