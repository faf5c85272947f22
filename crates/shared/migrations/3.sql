-- Who may use the server of a log, and who sent what.
CREATE TABLE interlock.tokens (
    tenant text NOT NULL REFERENCES interlock.tenants,
    id text NOT NULL,
    -- The token itself is stored nowhere.
    hash bytea NOT NULL CHECK (length(hash) = 32),
    role text NOT NULL CHECK (role IN ('agent', 'person', 'worker')),
    -- Who is responsible for what is sent with it.
    subject text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (tenant, id)
);

-- The request that made a run: known again if it is repeated.
CREATE TABLE interlock.starts (
    tenant text NOT NULL,
    id text NOT NULL,
    digest bytea NOT NULL,
    reply bytea NOT NULL,
    run text NOT NULL,
    subject text NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);
CREATE INDEX starts_by_run ON interlock.starts (tenant, run);

-- Who sent a command to the server, and whether it was part of the work that others approve; empty for one that was
-- not sent there.
ALTER TABLE interlock.commands ADD COLUMN subject text, ADD COLUMN role text,
    ADD COLUMN drives boolean NOT NULL DEFAULT false;

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.starts
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();

ALTER TABLE interlock.tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.starts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.tokens USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.starts USING (tenant = current_setting('interlock.tenant', true));
