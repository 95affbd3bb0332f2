#!/bin/bash
mkdir -p out/migrations
cat > out/migrations/0130_expand_tickets_status.sql <<'SQL'
BEGIN IMMEDIATE;
DROP VIEW agents_compat;
CREATE TABLE tickets_status (code TEXT PRIMARY KEY, sort INTEGER NOT NULL UNIQUE);
INSERT INTO tickets_status VALUES ('open', 10), ('in_progress', 20), ('waiting', 30), ('closed', 40);
ALTER TABLE tickets ADD COLUMN status_code TEXT REFERENCES tickets_status (code);
INSERT INTO _migrations (number, name) VALUES (130, '0130_expand_tickets_status');
PRAGMA user_version = 130;
COMMIT;
SQL
cat > out/migrations/0140_backfill_tickets_status.sql <<'SQL'
BEGIN IMMEDIATE;
CREATE TEMP TABLE work AS
  SELECT id, status, CASE w
      WHEN 'new' THEN 'open' WHEN 'reopened' THEN 'open' WHEN 'wip' THEN 'in_progress' WHEN 'doing' THEN 'in_progress'
      WHEN 'on_hold' THEN 'waiting' WHEN 'pending' THEN 'waiting'
      WHEN 'done' THEN 'closed' WHEN 'resolved' THEN 'closed' WHEN 'fixed' THEN 'closed' ELSE w END AS word
  FROM (SELECT id, status, REPLACE(REPLACE(LOWER(TRIM(IFNULL(status, ''))), ' ', '_'), '-', '_') AS w FROM tickets);
UPDATE tickets SET status_code = (SELECT code FROM work JOIN tickets_status ON code = word WHERE work.id = tickets.id);
INSERT INTO _quarantine
  SELECT 'tickets', id, 'status', status, IIF(word = '', 'empty', 'unknown-value') FROM work
  WHERE word NOT IN (SELECT code FROM tickets_status) ORDER BY id;
DROP TABLE work;
CREATE INDEX ix_tickets__status_code ON tickets (status_code);
INSERT INTO _migrations (number, name) VALUES (140, '0140_backfill_tickets_status');
PRAGMA user_version = 140;
COMMIT;
SQL
cat > out/migrations/0150_contract_tickets_status.sql <<'SQL'
BEGIN IMMEDIATE;
DROP INDEX tickets_by_status;
ALTER TABLE tickets DROP COLUMN status;
CREATE VIEW tickets_compat AS SELECT id, status_code AS status, title, agent_id, opened_on FROM tickets;
INSERT INTO _migrations (number, name) VALUES (150, '0150_contract_tickets_status');
PRAGMA user_version = 150;
COMMIT;
SQL
python3 - <<'PY'
import glob, sqlite3
db = sqlite3.connect("out/helpdesk.db")
db.executescript(open("data/helpdesk.sql").read())
db.execute("PRAGMA foreign_keys = ON")
for name in sorted(glob.glob("out/migrations/*.sql")):
    db.executescript(open(name).read())
PY
