"""Replays an agent's migration files on the untouched dump, and looks at databases without trusting them."""
import sqlite3

import harness


def guarded(image=None):
    """A database in memory that can reach no file and gives up on endless work."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    if image is not None:
        db.deserialize(image)
    steps = iter(range(200))
    db.set_progress_handler(lambda: next(steps, None) is None, 10_000)
    db.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK)
    return db


def delivered(name):
    return guarded(harness.read(name))


def replay(dump, files):
    """The database after the first `len(files)` migrations."""
    db = guarded()
    db.executescript((harness.INPUTS / dump).read_text(encoding="utf-8"))
    db.execute("PRAGMA foreign_keys = ON")
    for name in files:
        db.executescript(harness.read(f"out/migrations/{name}").decode("utf-8"))
        assert not db.in_transaction, f"{name} leaves a transaction open"
    return db


def rows(db, sql):
    return db.execute(sql).fetchall()


def columns(db, table):
    return [(row[1], row[2].upper(), row[3], row[4]) for row in rows(db, f"PRAGMA table_info({table})")]


def names(db, kind):
    sql = f"SELECT name FROM sqlite_master WHERE type = '{kind}' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return [row[0] for row in rows(db, sql)]


def contents(db):
    """Everything but the wording of the schema."""
    found = {kind: names(db, kind) for kind in ("table", "view", "index", "trigger")}
    for table in found["table"] + found["view"]:
        found[f"rows of {table}"] = sorted(rows(db, f'SELECT * FROM "{table}"'), key=repr)
    return found
