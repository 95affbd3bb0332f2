#!/bin/bash
mkdir -p out/migrations
cat > out/migrations/0050_expand_orders_total.sql <<'SQL'
BEGIN IMMEDIATE;
DROP VIEW customers_compat;
ALTER TABLE orders ADD COLUMN total_cents INTEGER CHECK (total_cents >= 0);
INSERT INTO _migrations (number, name) VALUES (50, '0050_expand_orders_total');
PRAGMA user_version = 50;
COMMIT;
SQL
cat > out/migrations/0060_backfill_orders_total.sql <<'SQL'
BEGIN IMMEDIATE;
CREATE TEMP TABLE work AS
  WITH a AS (SELECT id, total, REPLACE(TRIM(IFNULL(total, '')), ',', '') AS t FROM orders),
       b AS (SELECT id, total, t, LTRIM(t, '-') AS u FROM a),
       c AS (SELECT *, INSTR(u || '.', '.') AS p FROM b),
       d AS (SELECT *, SUBSTR(u, 1, p - 1) AS whole, SUBSTR(u, p + 1) AS cents FROM c)
  SELECT id, total, CASE
      WHEN t = '' THEN 'empty'
      WHEN whole = '' OR whole GLOB '*[^0-9]*' OR cents GLOB '*[^0-9]*' OR LENGTH(cents) > 2
        OR u LIKE '%.' OR LENGTH(t) - LENGTH(u) > 1 THEN 'not-a-number'
      WHEN t <> u THEN 'negative' END AS reason,
    whole * 100 + SUBSTR(cents || '00', 1, 2) AS value
  FROM d;
UPDATE orders SET total_cents = (SELECT value FROM work WHERE work.id = orders.id AND reason IS NULL);
INSERT INTO _quarantine SELECT 'orders', id, 'total', total, reason FROM work WHERE reason IS NOT NULL ORDER BY id;
DROP TABLE work;
CREATE INDEX ix_orders__total_cents ON orders (total_cents);
INSERT INTO _migrations (number, name) VALUES (60, '0060_backfill_orders_total');
PRAGMA user_version = 60;
COMMIT;
SQL
cat > out/migrations/0070_contract_orders_total.sql <<'SQL'
BEGIN IMMEDIATE;
DROP INDEX orders_by_total;
ALTER TABLE orders DROP COLUMN total;
CREATE VIEW orders_compat AS SELECT id, customer_id,
  CASE WHEN total_cents IS NOT NULL THEN PRINTF('%d.%02d', total_cents / 100, total_cents % 100) END AS total,
  placed_at, note FROM orders;
INSERT INTO _migrations (number, name) VALUES (70, '0070_contract_orders_total');
PRAGMA user_version = 70;
COMMIT;
SQL
python3 - <<'PY'
import glob, sqlite3
db = sqlite3.connect("out/shop.db")
db.executescript(open("data/shop.sql").read())
db.execute("PRAGMA foreign_keys = ON")
for name in sorted(glob.glob("out/migrations/*.sql")):
    db.executescript(open(name).read())
PY
