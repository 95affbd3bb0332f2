#!/bin/bash
set -e
psql -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -U app shop <<'SQL'
INSERT INTO payments (order_id, cents, kind) SELECT order_id, -cents, kind FROM payments WHERE order_id = 2;
UPDATE orders SET status = 'refunded' WHERE id = 2;
SQL
