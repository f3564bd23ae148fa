-- How questions ended is now read from the questions that core stores.

DROP TABLE web_ui_answers;
