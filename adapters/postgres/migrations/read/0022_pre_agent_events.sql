-- What does the page of an agent follow? The facts about agents and messages for them, in the order of their decisions.
--
-- A company's records and agents are in one partition, so the place of a decision there rises with time; a decision has few
-- facts.
CREATE INDEX history_agent_events ON {read}.history (company_id, ((sequence * 1000 + ordinal)))
    WHERE starts_with(type, 'agent.') OR type = 'agent_message.acknowledged'
        OR (starts_with(type, 'record.') AND data ->> 'record_type' = 'agent_message');
CREATE VIEW {read}.agent_events AS
SELECT company_id, sequence * 1000 + ordinal AS id, at, type, data
FROM {read}.history
WHERE starts_with(type, 'agent.') OR type = 'agent_message.acknowledged'
    OR (starts_with(type, 'record.') AND data ->> 'record_type' = 'agent_message');
