"""The three migrations, run again one by one on the untouched dump, and the database that was delivered."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same
from replay import columns, contents, delivered, names, replay, rows

FILES = [
    "0050_expand_orders_total.sql",
    "0060_backfill_orders_total.sql",
    "0070_contract_orders_total.sql",
]
QUARANTINE = "SELECT * FROM _quarantine ORDER BY rowid"


def old():
    return replay("shop.sql", [])


def after(count):
    return replay("shop.sql", FILES[:count])


def convert(text):
    """Cents, or the reason why there are none."""
    number = (text or "").strip(" ").replace(",", "")
    if not number:
        return None, "empty"
    match = re.fullmatch(r"(-?)(\d+)(?:\.(\d\d?))?", number, re.ASCII)
    if not match:
        return None, "not-a-number"
    if match[1]:
        return None, "negative"
    return int(match[2]) * 100 + int((match[3] or "0").ljust(2, "0")), None


BEFORE = rows(old(), "SELECT id, total FROM orders ORDER BY id")
CENTS = [(key, convert(total)[0]) for key, total in BEFORE]
BAD = [("orders", key, "total", total, convert(total)[1]) for key, total in BEFORE if convert(total)[1]]
KEPT = rows(old(), QUARANTINE)


@check
def names_and_numbers_of_the_files():
    same(harness.listing("out/migrations"), FILES)


@check
def nothing_else_in_out():
    same(harness.listing("out"), [f"migrations/{name}" for name in FILES] + ["shop.db"])


@check
def versions():
    same([rows(after(n), "PRAGMA user_version")[0][0] for n in (1, 2, 3)], [50, 60, 70])


@check
def each_file_is_recorded():
    for count in (1, 2, 3):
        got = rows(after(count), "SELECT number, name FROM _migrations WHERE number > 40 ORDER BY number")
        same(got, [(int(name[:4]), name[:-4]) for name in FILES[:count]])


@check
def expand_adds_an_empty_column():
    db = after(1)
    same(columns(db, "orders")[-1], ("total_cents", "INTEGER", 0, None))
    same(rows(db, "SELECT count(*) FROM orders WHERE total_cents IS NOT NULL"), [(0,)])


@check
def expand_leaves_the_old_readers_alone():
    db = after(1)
    same(columns(db, "orders")[:-1], columns(old(), "orders"))
    same(names(db, "index"), names(old(), "index"))
    same(rows(db, "SELECT id, total FROM orders ORDER BY id"), BEFORE)
    same(rows(db, QUARANTINE), KEPT)


@check
def expand_drops_the_view_of_the_release_before():
    same(names(after(1), "view"), [])


@check
def negative_cents_are_refused():
    try:
        after(1).execute("UPDATE orders SET total_cents = -1 WHERE id = 101")
    except Exception as error:
        assert "constraint" in str(error).lower(), error
    else:
        raise AssertionError("total_cents takes -1")


@check
def backfill_converts():
    same(rows(after(2), "SELECT id, total_cents FROM orders ORDER BY id"), CENTS)
    same(rows(after(2), "SELECT count(*) FROM orders WHERE typeof(total_cents) NOT IN ('integer', 'null')"), [(0,)])


@check
def backfill_puts_the_rest_in_quarantine():
    same(rows(after(2), QUARANTINE), KEPT + BAD)


@check
def backfill_leaves_the_old_column():
    same(rows(after(2), "SELECT id, total FROM orders ORDER BY id"), BEFORE)


@check
def backfill_creates_the_index():
    db = after(2)
    same(names(db, "index"), sorted([*names(old(), "index"), "ix_orders__total_cents"]))
    same([row[2] for row in rows(db, "PRAGMA index_info(ix_orders__total_cents)")], ["total_cents"])


@check
def contract_drops_the_old_column():
    db = after(3)
    want = [column for column in columns(old(), "orders") if column[0] != "total"]
    same(columns(db, "orders"), [*want, ("total_cents", "INTEGER", 0, None)])
    same(names(db, "index"), ["ix_orders__total_cents", "orders_by_customer"])


@check
def view_for_late_readers():
    db = after(3)
    same(names(db, "view"), ["orders_compat"])
    cents = dict(CENTS)
    want = []
    for key, customer, _, placed, note in rows(old(), "SELECT * FROM orders ORDER BY id"):
        shown = None if cents[key] is None else f"{cents[key] // 100}.{cents[key] % 100:02d}"
        want.append((key, customer, shown, placed, note))
    cursor = db.execute("SELECT * FROM orders_compat ORDER BY id")
    same([item[0] for item in cursor.description], ["id", "customer_id", "total", "placed_at", "note"])
    same(cursor.fetchall(), want)


@check
def delivered_database_is_whole():
    db = delivered("out/shop.db")
    same(rows(db, "PRAGMA integrity_check"), [("ok",)])
    same(rows(db, "PRAGMA foreign_key_check"), [])
    same(rows(db, "PRAGMA user_version"), [(70,)])


@check
def delivered_database_is_what_the_files_make():
    same(contents(delivered("out/shop.db")), contents(after(3)))


harness.run()
