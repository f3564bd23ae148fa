-- Links that show a chat, up to the moment of sharing, without a login. digest is the SHA-256 of the link's secret.

CREATE TABLE web_ui_shared_links (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    last_created DOUBLE PRECISION NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION NOT NULL
);
CREATE UNIQUE INDEX web_ui_shared_links_digest ON web_ui_shared_links (digest);
CREATE INDEX web_ui_shared_links_session ON web_ui_shared_links (session_id);
CREATE INDEX web_ui_shared_links_owner ON web_ui_shared_links (owner);
