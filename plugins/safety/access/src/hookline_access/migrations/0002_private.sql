-- Whether the channel says that nobody but this person reads the chat: 1 or 0; NULL of a channel
-- that does not say.
ALTER TABLE access_chats ADD COLUMN private INTEGER;
