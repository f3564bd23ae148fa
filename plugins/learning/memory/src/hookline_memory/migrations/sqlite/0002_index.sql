-- The facts' terms, made by the plugin and separated by blanks (so the tokenizer only splits), and
-- a mark of their chat. The row number is the fact's.
CREATE VIRTUAL TABLE memory_index USING fts5(chat, terms, tokenize = 'ascii');
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab('memory_index', 'row');
