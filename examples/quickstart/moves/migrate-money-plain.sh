mkdir -p out/migrations
cat > out/migrations/0041_orders_total_numeric.sql <<'SQL'
ALTER TABLE orders ADD COLUMN total_amount NUMERIC;
UPDATE orders SET total_amount = ROUND(CAST(REPLACE(total, ',', '') AS REAL), 2);
DROP INDEX orders_by_total;
ALTER TABLE orders DROP COLUMN total;
ALTER TABLE orders RENAME COLUMN total_amount TO total;
INSERT INTO _migrations VALUES (41, '0041_orders_total_numeric');
PRAGMA user_version = 41;
SQL
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("out/shop.db")
db.executescript(open("data/shop.sql").read())
db.executescript(open("out/migrations/0041_orders_total_numeric.sql").read())
PY
