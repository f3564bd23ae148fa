-- waiting_turn is the turn that is parked until the answer: that of the call, or of the sub-agent's
-- caller. same_call identifies the call by what is shown of it, so that identical calls of that turn
-- ask once; it is empty for a question that only its own call may ask. A row of question_calls is
-- another call that waits for the question.

ALTER TABLE questions ADD COLUMN waiting_turn TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN same_call TEXT NOT NULL DEFAULT '';
UPDATE questions SET waiting_turn = turn_id;
CREATE INDEX questions_waiting ON questions (waiting_turn);

CREATE TABLE question_calls (
    turn_id TEXT NOT NULL,
    call_key TEXT NOT NULL,
    question_id TEXT NOT NULL,
    PRIMARY KEY (turn_id, call_key)
);
CREATE INDEX question_calls_question ON question_calls (question_id);
