-- The facts' terms, made by the plugin and separated by blanks, and a mark of their chat. The row
-- number is the fact's.
CREATE TABLE memory_index (
    rowid BIGINT PRIMARY KEY,
    chat TEXT NOT NULL,
    terms TEXT NOT NULL,
    words TEXT[] GENERATED ALWAYS AS (string_to_array(chat || ' ' || terms, ' ')) STORED
);
CREATE INDEX memory_index_words ON memory_index USING gin (words);
