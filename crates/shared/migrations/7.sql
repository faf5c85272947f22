-- What a list says of a run: its status and its states as JSON, and how many requests wait for a person, as of so many
-- events. Null: nobody has looked since.
ALTER TABLE interlock.runs ADD COLUMN standing text, ADD COLUMN waiting bigint CHECK (waiting >= 0),
    ADD COLUMN listed_seq bigint;

-- What waits is looked for in all runs of a tenant.
CREATE INDEX runs_waiting ON interlock.runs (tenant, run) WHERE waiting IS NULL OR waiting > 0;

-- Whoever appends events and does not say where the run stands then leaves nothing that is out of date.
CREATE FUNCTION interlock.forget_standing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.standing := NULL;
    NEW.waiting := NULL;
    RETURN NEW;
END
$$;

CREATE TRIGGER forget_standing BEFORE UPDATE ON interlock.runs FOR EACH ROW
    WHEN (NEW.seq <> OLD.seq AND NEW.listed_seq IS DISTINCT FROM NEW.seq)
    EXECUTE FUNCTION interlock.forget_standing();
