-- Watches, from inside the database, that only the owner of a session writes into it.
--
-- What a transaction begins with is noted with the process that it belongs to; each row of a history
-- with who owned its session when that transaction began. Afterwards the two are compared.
CREATE TABLE harness_transactions (xact xid8, node text);
CREATE TABLE harness_writes (xact xid8, session text, what text, owner text);

CREATE FUNCTION harness_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO harness_transactions VALUES (pg_current_xact_id(), NEW.node);
    RETURN NEW;
END $$;

-- Found by the index, so that no transaction is run again because of the watch.
CREATE FUNCTION harness_watch() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    written text := COALESCE(to_jsonb(NEW) ->> 'session_id',
                             (SELECT t.session_id FROM turns t WHERE t.id = to_jsonb(NEW) ->> 'turn_id'));
BEGIN
    INSERT INTO harness_writes VALUES (pg_current_xact_id(), written, TG_TABLE_NAME || ' ' || TG_OP,
                                       (SELECT o.node FROM owners o WHERE o.key = written));
    RETURN NEW;
END $$;

CREATE TRIGGER harness_note AFTER UPDATE ON writers FOR EACH ROW EXECUTE FUNCTION harness_note();
CREATE TRIGGER harness_watch AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION harness_watch();
CREATE TRIGGER harness_watch AFTER INSERT OR UPDATE ON steps
    FOR EACH ROW EXECUTE FUNCTION harness_watch();
CREATE TRIGGER harness_watch AFTER INSERT OR UPDATE ON turns
    FOR EACH ROW EXECUTE FUNCTION harness_watch();
