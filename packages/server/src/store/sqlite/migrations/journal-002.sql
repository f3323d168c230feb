-- Older programs may run on this. Lists of documents are read from the newest on, of one workspace or of all: the row's number is the end of each index.

CREATE INDEX documents_by_workspace ON documents (kind, workspace);
CREATE INDEX documents_by_kind ON documents (kind);
