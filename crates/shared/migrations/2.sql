-- What belongs to a run's log beside its events: what models said, and what calls returned.
CREATE TABLE interlock.messages (
    tenant text NOT NULL,
    run text NOT NULL,
    digest text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, run, digest),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

CREATE TABLE interlock.outputs (
    tenant text NOT NULL,
    run text NOT NULL,
    -- The SHA-256 of the call's id.
    call text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, run, call),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

ALTER TABLE interlock.messages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.outputs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.messages USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.outputs USING (tenant = current_setting('interlock.tenant', true));
