-- What happened in a tenant, in one order. An entry is numbered when it is signed, and its digest keeps what it was then;
-- its content stays in the table that it comes from.
CREATE TABLE interlock.audit (
    tenant text NOT NULL REFERENCES interlock.tenants,
    seq bigint NOT NULL CHECK (seq >= 0),
    kind text NOT NULL,
    -- What it is about: the run, the number of an event, and the id of anything else. Empty or 0 if there is none.
    run text NOT NULL,
    n bigint NOT NULL,
    id text NOT NULL,
    at_ms bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    hash bytea NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (tenant, seq),
    UNIQUE (tenant, kind, run, n, id)
);

-- What was signed: the number of entries, the hash of the last, and when.
CREATE TABLE interlock.audit_heads (
    tenant text NOT NULL REFERENCES interlock.tenants,
    entries bigint NOT NULL CHECK (entries >= 0),
    -- The id of the public key.
    key text NOT NULL,
    head bytea NOT NULL,
    signature bytea NOT NULL CHECK (length(signature) = 64),
    PRIMARY KEY (tenant, entries, key)
);

-- The signed workflows of a tenant, as published.
CREATE TABLE interlock.bundles (
    tenant text NOT NULL REFERENCES interlock.tenants,
    revision bigint NOT NULL CHECK (revision > 0),
    name text NOT NULL,
    -- The id of the public key that it was checked with.
    key text NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    body bytea NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, revision)
);

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.audit
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.audit_heads
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.bundles
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();

ALTER TABLE interlock.audit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.audit_heads ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.bundles ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.audit USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.audit_heads USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.bundles USING (tenant = current_setting('interlock.tenant', true));
