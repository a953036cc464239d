-- What is read again at each start, and what is pruned, whatever else the ledger holds.
CREATE INDEX ledger_build ON ledger (id) WHERE kind = 'build';
CREATE INDEX ledger_report_id ON ledger (id) WHERE kind = 'report';
CREATE INDEX ledger_report_at ON ledger (at) WHERE kind = 'report';
