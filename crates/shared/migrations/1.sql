-- The log: runs, their events, commands, snapshots and machines. Tenant first in every key.
CREATE TABLE interlock.tenants (
    tenant text PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE interlock.runs (
    tenant text NOT NULL REFERENCES interlock.tenants,
    run text NOT NULL,
    -- Number of events, the hash of the last and its time: what an append compares and moves.
    seq bigint NOT NULL CHECK (seq >= 0),
    tip_hash bytea NOT NULL CHECK (length(tip_hash) = 32),
    last_ms bigint NOT NULL,
    -- Who carries the run: a carrier's append takes the epoch it was given.
    epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    holder text,
    -- What is pinned. Its digest is what the first event is chained to.
    digest bytea NOT NULL CHECK (length(digest) = 32),
    created_ms bigint NOT NULL,
    name text,
    workflow text NOT NULL,
    durability text NOT NULL,
    source_name bytea NOT NULL,
    source bytea NOT NULL,
    machine bytea NOT NULL,
    -- Where the project and the home were on the machine that made the run: no part of the digest.
    project_root text NOT NULL,
    person_home text NOT NULL,
    PRIMARY KEY (tenant, run)
);

CREATE TABLE interlock.events (
    tenant text NOT NULL,
    run text NOT NULL,
    seq bigint NOT NULL CHECK (seq >= 0),
    at_ms bigint NOT NULL,
    prev bytea NOT NULL CHECK (length(prev) = 32),
    hash bytea NOT NULL CHECK (length(hash) = 32),
    -- As it was written, which is what the hash is of.
    body bytea NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run, seq),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

CREATE TABLE interlock.commands (
    tenant text NOT NULL,
    run text NOT NULL,
    id text NOT NULL,
    digest bytea NOT NULL,
    reply bytea NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (tenant, run, id),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

CREATE TABLE interlock.snapshots (
    tenant text NOT NULL,
    run text NOT NULL,
    seq bigint NOT NULL,
    engine text NOT NULL,
    head bytea NOT NULL,
    body bytea NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (tenant, run, seq),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

CREATE TABLE interlock.machines (
    tenant text NOT NULL,
    run text NOT NULL,
    hash text NOT NULL,
    machine bytea NOT NULL,
    PRIMARY KEY (tenant, run, hash),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs
);

-- What was recorded is never changed, not even by who owns the tables.
CREATE FUNCTION interlock.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what Interlock has recorded is never changed' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.events
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.commands
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();

ALTER TABLE interlock.tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.runs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.commands ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.snapshots ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.machines ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.tenants USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.runs USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.events USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.commands USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.snapshots USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.machines USING (tenant = current_setting('interlock.tenant', true));
