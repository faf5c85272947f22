-- The files of a run's project as a carrier has recorded them; the current one is that of the last step that has ended.
CREATE TABLE interlock.workspaces (
    tenant text NOT NULL,
    run text NOT NULL,
    id text NOT NULL,
    -- The epoch of the carrier, and the machine that has the files.
    epoch bigint NOT NULL CHECK (epoch >= 0),
    machine text NOT NULL,
    is_current boolean NOT NULL DEFAULT false,
    -- A tar of the files and its SHA-256, or why there is none.
    digest bytea CHECK (length(digest) = 32),
    body bytea,
    why text,
    -- The number of events when a person was asked whether to go on without the files.
    asked_seq bigint CHECK (asked_seq >= 0),
    PRIMARY KEY (tenant, run, id),
    FOREIGN KEY (tenant, run) REFERENCES interlock.runs,
    CHECK ((digest IS NULL) = (body IS NULL) AND (body IS NULL) <> (why IS NULL))
);

-- Compressing costs more than it saves.
ALTER TABLE interlock.workspaces ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE UNIQUE INDEX workspaces_current ON interlock.workspaces (tenant, run) WHERE is_current;

ALTER TABLE interlock.workspaces ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON interlock.workspaces USING (tenant = current_setting('interlock.tenant', true));
