mkdir -p out/migrations
cat > out/migrations/0126_tickets_status.sql <<'SQL'
CREATE TABLE statuses (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
INSERT INTO statuses (name) VALUES ('open'), ('in_progress'), ('waiting'), ('closed');
ALTER TABLE tickets ADD COLUMN status_id INTEGER REFERENCES statuses (id);
UPDATE tickets SET status_id = (SELECT id FROM statuses WHERE name = REPLACE(LOWER(TRIM(status)), ' ', '_'));
UPDATE tickets SET status_id = 1 WHERE status_id IS NULL;
INSERT INTO _migrations VALUES (126, '0126_tickets_status');
PRAGMA user_version = 126;
SQL
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("out/helpdesk.db")
db.executescript(open("data/helpdesk.sql").read())
db.executescript(open("out/migrations/0126_tickets_status.sql").read())
PY
