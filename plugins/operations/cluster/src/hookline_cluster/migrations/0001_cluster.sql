-- The processes of the cluster, each with when it was last heard of (Unix seconds), and how many
-- turns a worker has at hand.
CREATE TABLE cluster_nodes (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, place TEXT NOT NULL, beat REAL NOT NULL,
    turns INTEGER NOT NULL);
-- What procrastinate's tables have been brought up to: the names of its steps.
CREATE TABLE cluster_queue (step TEXT PRIMARY KEY);
