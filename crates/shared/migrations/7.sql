-- What a list says of a run: its status and its states as JSON, and how many requests wait for a person. Null: nobody has
-- looked since events were appended by whoever does not know it.
ALTER TABLE interlock.runs ADD COLUMN standing text, ADD COLUMN waiting bigint CHECK (waiting >= 0);

-- What waits is looked for in all runs of a tenant.
CREATE INDEX runs_waiting ON interlock.runs (tenant, run) WHERE waiting IS NULL OR waiting > 0;
