-- Files that sessions wrote which had read from outside, with each content that they left there:
-- `path` is real and absolute, `digest` is SHA-256 in hex, `size` is in bytes, `origins` is JSON,
-- pairs of kind and source, `noted` is in Unix seconds.
CREATE TABLE provenance_files (
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    origins TEXT NOT NULL,
    noted DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (path, digest)
);
CREATE INDEX provenance_files_noted ON provenance_files (noted);
