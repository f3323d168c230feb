-- Older programs may not run on this. Lists are paged by when a document was made, and by its id. Of those that are there only the order is
-- known: they keep it, and come before all that follow.

ALTER TABLE documents ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
UPDATE documents SET created = serial;
DROP INDEX documents_by_workspace;
DROP INDEX documents_by_kind;
CREATE INDEX documents_by_workspace ON documents (kind, workspace, created, id);
CREATE INDEX documents_by_kind ON documents (kind, created, id);
