"""The three migrations, run again one by one on the untouched dump, and the database that was delivered."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same
from replay import columns, contents, delivered, names, replay, rows

FILES = [
    "0130_expand_tickets_status.sql",
    "0140_backfill_tickets_status.sql",
    "0150_contract_tickets_status.sql",
]
WORDS = [("open", 10), ("in_progress", 20), ("waiting", 30), ("closed", 40)]
OLD_WORDS = {
    "new": "open",
    "reopened": "open",
    "wip": "in_progress",
    "on_hold": "waiting",
    "done": "closed",
    "resolved": "closed",
}
ALL = "SELECT id, status FROM tickets ORDER BY id"
QUARANTINE = "SELECT * FROM _quarantine ORDER BY rowid"


def old():
    return replay("helpdesk.sql", [])


def after(count):
    return replay("helpdesk.sql", FILES[:count])


def convert(text):
    """The code, or the reason why there is none."""
    word = (text or "").strip(" ").lower()
    if not word:
        return None, "empty"
    word = word.translate({ord(" "): "_", ord("-"): "_"})
    word = OLD_WORDS.get(word, word)
    return (word, None) if word in dict(WORDS) else (None, "unknown-value")


BEFORE = rows(old(), ALL)
CODES = [(key, convert(status)[0]) for key, status in BEFORE]
BAD = [("tickets", key, "status", status, convert(status)[1]) for key, status in BEFORE if convert(status)[1]]


@check
def names_and_numbers_of_the_files():
    same(harness.listing("out/migrations"), FILES)


@check
def nothing_else_in_out():
    same(harness.listing("out"), ["helpdesk.db"] + [f"migrations/{name}" for name in FILES])


@check
def versions():
    same([rows(after(n), "PRAGMA user_version")[0][0] for n in (1, 2, 3)], [130, 140, 150])


@check
def each_file_is_recorded():
    for count in (1, 2, 3):
        got = rows(after(count), "SELECT number, name FROM _migrations WHERE number > 125 ORDER BY number")
        same(got, [(int(name[:4]), name[:-4]) for name in FILES[:count]])


@check
def expand_creates_the_table_of_words():
    db = after(1)
    same(rows(db, "SELECT code, sort FROM tickets_status ORDER BY sort"), WORDS)
    same([(name, kind) for name, kind, _, _ in columns(db, "tickets_status")], [("code", "TEXT"), ("sort", "INTEGER")])


@check
def expand_adds_an_empty_column():
    db = after(1)
    same(columns(db, "tickets")[-1], ("status_code", "TEXT", 0, None))
    same(rows(db, "SELECT count(*) FROM tickets WHERE status_code IS NOT NULL"), [(0,)])


@check
def new_column_refers_to_the_words():
    keys = rows(after(1), "PRAGMA foreign_key_list(tickets)")
    assert ("tickets_status", "status_code", "code") in [key[2:5] for key in keys], keys


@check
def expand_leaves_the_old_readers_alone():
    db = after(1)
    same(columns(db, "tickets")[:-1], columns(old(), "tickets"))
    same(names(db, "index"), names(old(), "index"))
    same(rows(db, ALL), BEFORE)
    same(rows(db, QUARANTINE), [])


@check
def expand_drops_the_view_of_the_release_before():
    same(names(after(1), "view"), [])


@check
def backfill_converts():
    same(rows(after(2), "SELECT id, status_code FROM tickets ORDER BY id"), CODES)


@check
def backfill_puts_the_rest_in_quarantine():
    same(rows(after(2), QUARANTINE), BAD)


@check
def backfill_leaves_the_old_column():
    same(rows(after(2), ALL), BEFORE)


@check
def backfill_creates_the_index():
    db = after(2)
    same(names(db, "index"), sorted([*names(old(), "index"), "ix_tickets__status_code"]))
    same([row[2] for row in rows(db, "PRAGMA index_info(ix_tickets__status_code)")], ["status_code"])


@check
def contract_drops_the_old_column():
    db = after(3)
    want = [column for column in columns(old(), "tickets") if column[0] != "status"]
    same(columns(db, "tickets"), [*want, ("status_code", "TEXT", 0, None)])
    same(names(db, "index"), ["ix_tickets__status_code", "tickets_by_agent"])


@check
def view_for_late_readers():
    db = after(3)
    same(names(db, "view"), ["tickets_compat"])
    codes = dict(CODES)
    want = [(row[0], codes[row[0]], *row[2:]) for row in rows(old(), "SELECT * FROM tickets ORDER BY id")]
    cursor = db.execute("SELECT * FROM tickets_compat ORDER BY id")
    same([item[0] for item in cursor.description], ["id", "status", "title", "agent_id", "opened_on"])
    same(cursor.fetchall(), want)


@check
def delivered_database_is_whole():
    db = delivered("out/helpdesk.db")
    same(rows(db, "PRAGMA integrity_check"), [("ok",)])
    same(rows(db, "PRAGMA foreign_key_check"), [])
    same(rows(db, "PRAGMA user_version"), [(150,)])


@check
def delivered_database_is_what_the_files_make():
    same(contents(delivered("out/helpdesk.db")), contents(after(3)))


harness.run()
