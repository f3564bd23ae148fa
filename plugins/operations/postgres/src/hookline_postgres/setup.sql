-- What the store itself keeps: applied migrations, the processes that use it, and what they own.
-- Run under a lock at each opening; harmless where all of it is there.
CREATE TABLE IF NOT EXISTS migrations (
    component TEXT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL,
    checksum TEXT NOT NULL, applied DOUBLE PRECISION NOT NULL, PRIMARY KEY (component, number));
-- A process that may write. Its row goes when it leaves, or when others find it dead.
CREATE TABLE IF NOT EXISTS nodes (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,
    started TEXT NOT NULL, joined DOUBLE PRECISION NOT NULL);
-- The connections it writes with, and the last transaction that each has committed. They go with
-- it: from then on each of its transactions finds no row and is refused.
CREATE TABLE IF NOT EXISTS writers (
    node TEXT NOT NULL REFERENCES nodes ON DELETE CASCADE, number BIGINT NOT NULL,
    transaction BIGINT NOT NULL, PRIMARY KEY (node, number)) WITH (fillfactor = 50);
-- When it was last heard of, by the database's clock; apart, since transactions lock rows of nodes.
CREATE TABLE IF NOT EXISTS beats (id TEXT PRIMARY KEY, beat DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS owners (key TEXT PRIMARY KEY, node TEXT, epoch BIGINT NOT NULL);
-- Part of the names of the channels of NOTIFY, which every role of the server can use: only who may
-- read this table can send or hear notifications of these processes.
CREATE TABLE IF NOT EXISTS channel_key (one BOOLEAN PRIMARY KEY CHECK (one), key TEXT NOT NULL);
INSERT INTO channel_key VALUES (TRUE, gen_random_uuid()::TEXT || gen_random_uuid()::TEXT)
ON CONFLICT DO NOTHING;
-- What each writing transaction begins with: its process keeps its rows until it has committed.
CREATE OR REPLACE FUNCTION hookline_fence(process TEXT, writer BIGINT, this BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    UPDATE writers SET transaction = this WHERE node = process AND number = writer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'process % has no row', process USING ERRCODE = 'HLF01';
    END IF;
END $$;
