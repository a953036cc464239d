-- What `history` tells, newest first: of all, of an environment, and of an artefact, which also has what carried it along.
-- The ledger holds much more (reports, steps), so these are partial; a query uses them that spells the kinds the same way.
CREATE INDEX ledger_told ON ledger (id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released');
CREATE INDEX ledger_told_there ON ledger (environment, id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released');
CREATE INDEX ledger_told_of ON ledger (artefact, id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released', 'carried');
