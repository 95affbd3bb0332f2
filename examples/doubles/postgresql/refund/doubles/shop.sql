CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, status TEXT NOT NULL);
CREATE TABLE payments (
  id INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  order_id INTEGER NOT NULL REFERENCES orders,
  cents INTEGER NOT NULL,
  kind TEXT NOT NULL
);
INSERT INTO orders VALUES (1, 'Kim', 'paid'), (2, 'Robin', 'paid'), (3, 'Sam', 'open');
INSERT INTO payments (order_id, cents, kind) VALUES (1, 1250, 'card'), (2, 900, 'card'), (2, 450, 'voucher');
