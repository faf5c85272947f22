-- Who carries a durable run, until when (by the clock of the database), and whom to tell when that has ended; and when
-- somebody has to look at a run that nobody carries.
ALTER TABLE interlock.runs ADD COLUMN lease_until timestamptz, ADD COLUMN awakeable text, ADD COLUMN due timestamptz;
CREATE INDEX runs_by_lease ON interlock.runs (tenant, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX runs_by_due ON interlock.runs (tenant, due) WHERE due IS NOT NULL;

-- What the engine that places durable runs has yet to be told. Written with what it tells of, and deleted once it is
-- delivered: a run has at most one row to wake it, and one for each carrier that has ended.
CREATE TABLE interlock.outbox (
    tenant text NOT NULL,
    run text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('wake', 'carried')),
    -- The epoch of the carrier that has ended; 0 to wake a run.
    epoch bigint NOT NULL CHECK (epoch >= 0),
    -- The number of events, or the epoch of a lost carrier: with the body, the key under which it is delivered once.
    seq bigint NOT NULL CHECK (seq >= 0),
    -- The reason to wake the run, or what follows.
    body text NOT NULL,
    awakeable text CHECK ((awakeable IS NOT NULL) = (kind = 'carried')),
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run, kind, epoch),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

ALTER TABLE interlock.outbox ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.outbox USING (tenant = current_setting('interlock.tenant', true));
