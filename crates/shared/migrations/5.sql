-- Who may do what: the newest revision of a tenant holds.
CREATE TABLE interlock.people (
    tenant text NOT NULL REFERENCES interlock.tenants,
    revision bigint NOT NULL CHECK (revision > 0),
    body text NOT NULL,
    loaded_by text NOT NULL,
    loaded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, revision)
);

-- The answers of people whose rules ask for several of them; `digest` is of the whole row.
CREATE TABLE interlock.votes (
    tenant text NOT NULL,
    run text NOT NULL,
    -- The request, or `changes` for changes of protected things.
    request text NOT NULL,
    -- What was asked, and what had been written when it was answered: another question makes the vote void.
    question bytea NOT NULL CHECK (length(question) = 32),
    subject text NOT NULL,
    -- The groups that the issuer of the token has named, between spaces.
    groups text NOT NULL,
    yes boolean NOT NULL,
    note text,
    revision bigint NOT NULL,
    at_ms bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (tenant, run, request, question, subject, yes),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs,
    FOREIGN KEY (tenant, revision) REFERENCES interlock.people
);

-- The one name of each person of an issuer, and the one person of each name.
CREATE TABLE interlock.identities (
    tenant text NOT NULL REFERENCES interlock.tenants,
    issuer text NOT NULL,
    -- The issuer's own id of the person.
    person text NOT NULL,
    subject text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, issuer, person),
    UNIQUE (tenant, subject)
);

-- The tokens of issuers that were exchanged: none is exchanged twice.
CREATE TABLE interlock.exchanged (
    tenant text NOT NULL REFERENCES interlock.tenants,
    issuer text NOT NULL,
    id bytea NOT NULL CHECK (length(id) = 32),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, issuer, id)
);

-- A token of an issuer's person or job has the groups that the issuer has named, and that of a job is for one run.
ALTER TABLE interlock.tokens ADD COLUMN groups text NOT NULL DEFAULT '', ADD COLUMN issuer text,
    ADD COLUMN one_run boolean NOT NULL DEFAULT false, ADD COLUMN run text,
    ADD FOREIGN KEY (tenant, run) REFERENCES interlock.runs;

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.people
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.votes
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.identities
    FOR EACH STATEMENT EXECUTE FUNCTION interlock.refuse_change();

ALTER TABLE interlock.people ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.votes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.identities ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE interlock.exchanged ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.people USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.votes USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.identities USING (tenant = current_setting('interlock.tenant', true));
CREATE POLICY own_tenant ON interlock.exchanged USING (tenant = current_setting('interlock.tenant', true));
