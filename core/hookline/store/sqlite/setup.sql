-- Sets up a new database: Hookline's id in the header (HOOK), and the table of applied migrations.
BEGIN IMMEDIATE;
PRAGMA application_id = 0x484F4F4B;
CREATE TABLE migrations (
    component TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
    checksum TEXT NOT NULL, applied REAL NOT NULL, PRIMARY KEY (component, number));
COMMIT;
